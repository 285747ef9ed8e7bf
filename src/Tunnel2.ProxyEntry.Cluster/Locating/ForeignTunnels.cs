using System.Collections.Frozen;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Locating;

/// <summary>
/// What other nodes serve that is not HTTP: read from the database after each registration of that kind, and now and then. One that is gone
/// stays for as long as visitors wait for its agent.
/// </summary>
internal sealed class ForeignTunnels : IForeignTunnels
{
    /// <summary>How many are known at most; the oldest registrations count.</summary>
    public const int Most = 10_000;

    /// <summary>The kind under which a change is reported.</summary>
    public const string Kind = "tunnels";

    /// <summary>Longer than a registration takes, with the wait for its turn.</summary>
    private static readonly TimeSpan _registration = TimeSpan.FromSeconds(10);

    private readonly ITunnelStore _store;
    private readonly NodeState _node;
    private readonly TimeSpan _keptFor;
    private readonly TimeProvider _timeProvider;
    private Dictionary<ForeignTunnel, long> _seen = [];
    private volatile State _state = State.Empty;

    /// <param name="store">The database.</param>
    /// <param name="shared">Says when to look.</param>
    /// <param name="node">This node.</param>
    /// <param name="keptFor">How long one that is gone is kept.</param>
    /// <param name="timeProvider">The clock.</param>
    public ForeignTunnels(
        ITunnelStore store, ISharedDocuments shared, NodeState node, TimeSpan keptFor, TimeProvider timeProvider)
    {
        _store = store;
        _node = node;
        _keptFor = keptFor;
        _timeProvider = timeProvider;
        shared.Watch(Kind, LookAsync);
    }

    /// <inheritdoc/>
    public event Action? Changed;

    /// <inheritdoc/>
    public bool HasTls => _state.Tls.Count > 0;

    /// <inheritdoc/>
    public IReadOnlyList<ForeignTunnel> Ports => _state.Ports;

    /// <inheritdoc/>
    public bool IsTls(ReadOnlySpan<char> name) =>
        _state.Tls is { Count: > 0 } tls && tls.GetAlternateLookup<ReadOnlySpan<char>>().Contains(name);

    /// <inheritdoc/>
    public async Task<IReadOnlyCollection<ForeignTunnel>> ReadAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await _store.ListTunnelsAsync(_node.Facts.Node, Most, cancellationToken).ConfigureAwait(false);
        }
        catch (StoreUnavailableException)
        {
            return Volatile.Read(ref _seen).Keys;
        }
    }

    /// <inheritdoc/>
    public async Task<ForeignTunnel?> FindAsync(AgentIdentity owner, string? token, CancellationToken cancellationToken)
    {
        try
        {
            return await _store.FindTunnelAsync(_node.Facts.Node, owner.ToDigest(), token, cancellationToken).ConfigureAwait(false);
        }
        catch (StoreUnavailableException)
        {
            return null;
        }
    }

    /// <inheritdoc/>
    public async Task<bool> MayHaveAsync(SessionKind kind, int port, string name, CancellationToken cancellationToken)
    {
        if (_node.Ready is null)
        {
            // As with names: agents that come back cause no calls to a database that is not there.
            throw new SharedUnavailableException(_node.Trouble, mayHaveChanged: false);
        }

        try
        {
            return await _store.TakePortAsync(
                _node.Facts.Node, new ForeignTunnel(name, kind, port), _registration, cancellationToken).ConfigureAwait(false);
        }
        catch (StoreUnavailableException exception)
        {
            throw new SharedUnavailableException($"The cluster's database is not available ({exception.Reason}).", false, exception);
        }
    }

    /// <summary>Looks. One call at a time.</summary>
    public async Task LookAsync(CancellationToken cancellationToken)
    {
        IReadOnlyList<ForeignTunnel> found;
        try
        {
            found = await _store.ListTunnelsAsync(_node.Facts.Node, Most, cancellationToken).ConfigureAwait(false);
        }
        catch (StoreUnavailableException exception)
        {
            throw new SharedUnavailableException(exception.Reason, mayHaveChanged: false, exception);
        }

        var now = _timeProvider.GetTimestamp();
        var seen = new Dictionary<ForeignTunnel, long>();
        foreach (var tunnel in found)
        {
            seen[tunnel] = now;
        }

        // A name or a port that has another tunnel now is that tunnel's.
        var taken = found.Select(static tunnel => tunnel.Name).ToHashSet(StringComparer.Ordinal);
        foreach (var (tunnel, since) in _seen)
        {
            if (!taken.Contains(tunnel.Name) && _timeProvider.GetElapsedTime(since, now) < _keptFor && seen.Count < Most)
            {
                seen[tunnel] = since;
            }
        }

        _seen = seen;
        _state = new State(
            seen.Keys.Where(static tunnel => tunnel.Kind == SessionKind.Tls).Select(static tunnel => tunnel.Name)
                .ToFrozenSet(StringComparer.Ordinal),
            [.. seen.Keys.Where(static tunnel => tunnel.Port > 0)]);
        Changed?.Invoke();
    }

    private sealed record State(FrozenSet<string> Tls, ForeignTunnel[] Ports)
    {
        public static readonly State Empty = new(FrozenSet<string>.Empty, []);
    }
}
