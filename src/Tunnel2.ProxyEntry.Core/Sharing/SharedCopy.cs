using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>
/// This node's copy of the documents of a kind. Every change and every look reads what is different, one after the other, so an older state
/// is never followed after a newer one. Thread-safe.
/// </summary>
/// <remarks>
/// A read gives what has a higher version than all that was read before, what was removed since, and the sum of all documents. Where these
/// do not lead to that sum, all of them are read: after an older copy of the database was put back, or after a long absence.
///
/// A file of the state folder has the generation of the set that the folder is a copy of. Without the file the folder is this node's own,
/// from before it joined: its documents are added once. With it the database decides: what is missing there was removed. Only a database
/// that has no set at all is filled from the copy.
/// </remarks>
internal sealed class SharedCopy : IDisposable
{
    private static readonly TimeSpan _longestTurn = TimeSpan.FromSeconds(5);

    private readonly SemaphoreSlim _turn = new(1);
    private readonly ISharedDocuments _documents;
    private readonly ISharedContent _content;
    private readonly string _kind;
    private readonly int _most;
    private readonly string _stateFolder;
    private readonly string _path;
    private readonly ILogger _logger;
    private readonly SharedIndex _index = new();
    private Guid? _generation;
    private string? _trouble = "not read yet";

    public SharedCopy(ISharedDocuments documents, string kind, int most, string stateFolder, ISharedContent content, ILogger logger)
    {
        _documents = documents;
        _kind = kind;
        _most = most;
        _stateFolder = stateFolder;
        _path = Path.Combine(stateFolder, $"shared-{kind}");
        _content = content;
        _logger = logger;
        _generation = ReadGeneration();
        documents.Watch(kind, LookAsync);
    }

    /// <summary>Why the last look has failed; null: it has not, so the copy is that of the database of a moment ago.</summary>
    public string? Trouble => Volatile.Read(ref _trouble);

    /// <summary>Adds a document, and reads what is different.</summary>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public async Task<SharedOutcome> AddAsync(SharedDocument document, CancellationToken cancellationToken)
    {
        var (outcome, _) = await ChangeAsync(
            generation => _documents.AddAsync(_kind, generation, document, _most, cancellationToken), cancellationToken)
            .ConfigureAwait(false);
        return outcome;
    }

    /// <summary>Adds or replaces a document, and reads what is different.</summary>
    /// <returns>The outcome, and how many sessions were ended.</returns>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public Task<(SharedOutcome Outcome, int Ended)> PutAsync(SharedDocument document, CancellationToken cancellationToken) => ChangeAsync(
        generation => _documents.PutAsync(_kind, generation, document, _most, cancellationToken), cancellationToken);

    /// <summary>Removes a document, and reads what is different.</summary>
    /// <returns>The outcome, and how many sessions were ended.</returns>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public Task<(SharedOutcome Outcome, int Ended)> RemoveAsync(string key, CancellationToken cancellationToken) => ChangeAsync(
        generation => _documents.RemoveAsync(_kind, generation, key, cancellationToken), cancellationToken);

    /// <summary>Says when documents were used.</summary>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public Task TouchAsync(IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken) =>
        _documents.TouchAsync(_kind, uses, cancellationToken);

    /// <inheritdoc/>
    public void Dispose() => _turn.Dispose();

    /// <summary>Reads what is different, and follows it.</summary>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public async Task LookAsync(CancellationToken cancellationToken)
    {
        await TakeTurnAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            await ReadUnsynchronizedAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    private async Task<(SharedOutcome Outcome, int Ended)> ChangeAsync(
        Func<Guid, Task<SharedOutcome>> change, CancellationToken cancellationToken)
    {
        await TakeTurnAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            if (Trouble is not null || _generation is not { } generation)
            {
                try
                {
                    await ReadUnsynchronizedAsync(cancellationToken).ConfigureAwait(false);
                }
                catch (SharedUnavailableException exception)
                {
                    throw new SharedUnavailableException(exception.Reason, mayHaveChanged: false, exception);
                }

                generation = _generation!.Value;
            }

            var outcome = await change(generation).ConfigureAwait(false);
            if (outcome == SharedOutcome.Emptied)
            {
                // The next look fills it again.
                Volatile.Write(ref _trouble, "emptied");
                throw new SharedUnavailableException("it was emptied, and is filled again", mayHaveChanged: false);
            }

            try
            {
                return (outcome, await ReadUnsynchronizedAsync(cancellationToken).ConfigureAwait(false));
            }
            catch (SharedUnavailableException)
            {
                // The change is made. This node follows with its next look.
                return (outcome, 0);
            }
        }
        finally
        {
            _turn.Release();
        }
    }

    private async Task TakeTurnAsync(CancellationToken cancellationToken)
    {
        if (!await _turn.WaitAsync(_longestTurn, cancellationToken).ConfigureAwait(false))
        {
            throw new SharedUnavailableException("timed out", mayHaveChanged: false);
        }
    }

    private async Task<int> ReadUnsynchronizedAsync(CancellationToken cancellationToken)
    {
        try
        {
            var since = _index.Since;
            var set = await _documents.ReadAsync(_kind, since, _most, cancellationToken).ConfigureAwait(false);
            if (since > 0 && set?.Generation == _generation && _index.CompareChanged(set!) is { } changed)
            {
                return FollowUnsynchronized(changed, set!);
            }

            _index.Doubt();
            if (since > 0 && set is not null)
            {
                set = await _documents.ReadAsync(_kind, 0, _most, cancellationToken).ConfigureAwait(false);
            }

            var isStranger = _generation is null;
            if (set is null)
            {
                var made = Guid.NewGuid();
                set = await FillAsync(made, isNew: true, cancellationToken).ConfigureAwait(false);

                // If another node was first, nothing was added.
                isStranger &= set.Generation != made;
            }

            if (isStranger)
            {
                set = await FillAsync(set.Generation, isNew: false, cancellationToken).ConfigureAwait(false);
            }

            if (_generation != set.Generation)
            {
                // Before the folder becomes the copy: one that is a copy in part must never be taken for the node's own.
                WriteGeneration(set.Generation);
                _generation = set.Generation;
            }

            return FollowUnsynchronized(_index.CompareAll(set), set);
        }
        catch (SharedUnavailableException exception)
        {
            Volatile.Write(ref _trouble, exception.Reason);
            throw;
        }
    }

    private int FollowUnsynchronized(SharedChanges changes, SharedSet set)
    {
        var ended = _content.Follow(changes);
        _index.Take(changes, set);
        Volatile.Write(ref _trouble, null);
        return ended;
    }

    private async Task<SharedSet> FillAsync(Guid generation, bool isNew, CancellationToken cancellationToken)
    {
        var own = _content.Own();
        await _documents.FillAsync(_kind, generation, isNew, own, cancellationToken).ConfigureAwait(false);
        var set = await _documents.ReadAsync(_kind, 0, _most, cancellationToken).ConfigureAwait(false)
            ?? throw new SharedUnavailableException("it was emptied again", mayHaveChanged: false);
        SharingLog.SharedFilled(_logger, _kind, own.Count, set.Documents.Count);
        return set;
    }

    private Guid? ReadGeneration()
    {
        try
        {
            return File.Exists(_path) ? ParseGeneration(File.ReadAllText(_path)) : null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            SharingLog.SharedCopyNotKept(_logger, _kind, _path, exception.Message);
            return Guid.Empty;
        }

        // What cannot be read is no generation of any set: the database decides.
        static Guid ParseGeneration(string text) => Guid.TryParse(text, out var generation) ? generation : Guid.Empty;
    }

    private void WriteGeneration(Guid generation)
    {
        try
        {
            StateFolder.Create(_stateFolder);
            OwnerOnlyFile.Replace(_path, System.Text.Encoding.ASCII.GetBytes(generation.ToString()));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            SharingLog.SharedCopyNotKept(_logger, _kind, _path, exception.Message);
        }
    }
}
