using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Tests.Acme;

/// <summary>What nodes share, in memory. Leases do not end by themselves, and there are no notices. Thread-safe.</summary>
internal sealed class SharedMemory : ISharedDocuments, ISharedLeases
{
    private readonly Lock _gate = new();
    private readonly SortedDictionary<(string Kind, string Key), SharedDocument> _documents = [];
    private readonly Dictionary<(string Kind, string Key), (long Version, string Name)> _gone = [];
    private readonly Dictionary<(string Kind, string Key), byte[]> _leases = [];
    private readonly Dictionary<string, Guid> _generations = [];
    private readonly List<Func<CancellationToken, Task>> _looks = [];
    private long _version;

    /// <summary>The database does not answer.</summary>
    public bool IsAway { get; set; }

    /// <summary>Has every node look.</summary>
    public async Task LookAsync()
    {
        foreach (var look in _looks.ToArray())
        {
            try
            {
                await look(CancellationToken.None);
            }
            catch (ObjectDisposedException)
            {
                // A node that has stopped.
                _looks.Remove(look);
            }
        }
    }

    /// <summary>The values of leases of a kind that ends so.</summary>
    public IReadOnlyList<byte[]> LeasesOf(string ending)
    {
        lock (_gate)
        {
            return [.. _leases.Where(one => one.Key.Kind.EndsWith(ending, StringComparison.Ordinal)).Select(static one => one.Value)];
        }
    }

    public void Watch(string kind, Func<CancellationToken, Task> look) => _looks.Add(look);

    public Task<SharedSet?> ReadAsync(string kind, long since, int most, CancellationToken cancellationToken) => Run(() =>
    {
        if (!_generations.TryGetValue(kind, out var generation))
        {
            return null;
        }

        var all = _documents.Where(one => one.Key.Kind == kind).Select(static one => one.Value).ToArray();
        return new SharedSet(
            generation,
            [.. all.Where(document => document.Version > since)],
            [.. _gone.Where(one => one.Key.Kind == kind && one.Value.Version > since).Select(static one => one.Value.Name)],
            all.Aggregate(default(SharedSum), static (sum, document) => sum.With(document.Mark)),
            _version);
    });

    public Task FillAsync(
        string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> documents, CancellationToken cancellationToken) => Run(() =>
    {
        if (!isNew || _generations.TryAdd(kind, generation))
        {
            foreach (var document in documents.Where(document => !_documents.ContainsKey((kind, document.Key))))
            {
                Set(kind, document);
            }
        }

        return true;
    });

    public Task<SharedOutcome> AddAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) => Run(() =>
        _documents.ContainsKey((kind, document.Key)) ? SharedOutcome.Taken : Set(kind, document));

    public Task<SharedOutcome> PutAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken) => Run(() =>
        document.Version > 0 && _documents.GetValueOrDefault((kind, document.Key))?.Version != document.Version
            ? SharedOutcome.Taken
            : Set(kind, document));

    public Task<SharedOutcome> RemoveAsync(string kind, Guid generation, string key, CancellationToken cancellationToken) => Run(() =>
    {
        if (!_documents.Remove((kind, key)))
        {
            return SharedOutcome.Missing;
        }

        _gone[(kind, key)] = (++_version, key);
        return SharedOutcome.Done;
    });

    public Task TouchAsync(
        string kind, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken) => Task.CompletedTask;

    public Task<bool> TakeAsync(string kind, string key, byte[] holder, TimeSpan life, CancellationToken cancellationToken) => Run(() =>
    {
        if (_leases.TryGetValue((kind, key), out var other) && !other.AsSpan().SequenceEqual(holder))
        {
            return false;
        }

        _leases[(kind, key)] = holder;
        return true;
    });

    public Task PlaceAsync(string kind, string key, byte[] value, TimeSpan life, CancellationToken cancellationToken) =>
        Run(() => _leases[(kind, key)] = value);

    public Task<byte[]?> FindAsync(string kind, string key, CancellationToken cancellationToken) =>
        Run(() => _leases.GetValueOrDefault((kind, key)));

    public Task ReleaseAsync(string kind, string key, byte[] value, CancellationToken cancellationToken) => Run(() =>
        _leases.TryGetValue((kind, key), out var there) && there.AsSpan().SequenceEqual(value) && _leases.Remove((kind, key)));

    private SharedOutcome Set(string kind, SharedDocument document)
    {
        _version++;
        _documents[(kind, document.Key)] = document with { Version = _version, Mark = _version };
        return SharedOutcome.Done;
    }

    private Task<T> Run<T>(Func<T> run)
    {
        lock (_gate)
        {
            return IsAway
                ? Task.FromException<T>(new SharedUnavailableException("away", mayHaveChanged: false))
                : Task.FromResult(run());
        }
    }
}
