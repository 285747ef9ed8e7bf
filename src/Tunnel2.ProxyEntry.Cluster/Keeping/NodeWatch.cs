using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Lifetime;

namespace Tunnel2.ProxyEntry.Cluster.Keeping;

/// <summary>
/// What this node sees of its cluster besides names: whether an operator wants it out of service, and whether it is cut off. It is not
/// ready when its lease is over, the database does not answer, and none of the nodes that it last saw there can be reached: visitors would
/// then find names here that have moved. One of the two is no reason, and neither is a cluster of one node. Before its first lease it is
/// not ready either: it knows no name, and may take none. Not thread-safe, except for what <see cref="IOtherNodes"/> has.
/// </summary>
internal sealed class NodeWatch : IOtherNodes
{
    /// <summary>How long another node has to answer.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(4);

    private readonly IClusterStore _store;
    private readonly NodeState _node;
    private readonly NodeDrain _drain;
    private readonly Readiness _readiness;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly Func<NodeLocation, Task<bool>>? _reaches;
    private IReadOnlyList<NodeLocation> _others = [];
    private IReadOnlyList<LostNode> _lost = [];
    private HashSet<string> _strange = new(StringComparer.Ordinal);
    private NodeAnnouncement? _announcement;
    private long? _looked;
    private int _mustLook;
    private bool _hasJoined;
    private bool _isCutOff;

    /// <param name="store">What all nodes share.</param>
    /// <param name="node">This node.</param>
    /// <param name="drain">Takes it out of service.</param>
    /// <param name="readiness">What balancers ask for.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="logger">The log.</param>
    /// <param name="reaches">Whether another node can be reached; null: this one has no links, and cannot find out.</param>
    public NodeWatch(
        IClusterStore store, NodeState node, NodeDrain drain, Readiness readiness, TimeProvider timeProvider, ILogger<NodeWatch> logger,
        Func<NodeLocation, Task<bool>>? reaches)
    {
        _store = store;
        _node = node;
        _drain = drain;
        _readiness = readiness;
        _timeProvider = timeProvider;
        _logger = logger;
        _reaches = reaches;
    }

    /// <inheritdoc/>
    public string Self => _node.Facts.Node;

    /// <inheritdoc/>
    public bool Exist => Volatile.Read(ref _others).Count > 0;

    /// <inheritdoc/>
    public IReadOnlyList<NodeLocation> Known => Volatile.Read(ref _others);

    /// <inheritdoc/>
    public IReadOnlyList<LostNode> Lost => Volatile.Read(ref _lost);

    /// <inheritdoc/>
    public event Action? Announced;

    /// <inheritdoc/>
    public NodeAnnouncement? Announcement => Volatile.Read(ref _announcement);

    /// <summary>Whether the node has had a lease.</summary>
    public bool HasJoined => _hasJoined;

    /// <inheritdoc/>
    public void Ask() => Volatile.Write(ref _mustLook, 1);

    /// <summary>Looks in the store, where that is due. The node has its lease.</summary>
    /// <exception cref="OperationCanceledException">It was given up.</exception>
    public async Task LookAsync(CancellationToken cancellationToken)
    {
        var isAsked = Interlocked.Exchange(ref _mustLook, 0) != 0;
        if (!isAsked && _looked is { } looked && _timeProvider.GetElapsedTime(looked) < ClusterTimes.Comparison)
        {
            return;
        }

        try
        {
            var around = await _store.LookAroundAsync(_node.Facts.Node, cancellationToken).ConfigureAwait(false);
            _looked = _timeProvider.GetTimestamp();
            Volatile.Write(ref _others, around.Others);
            var now = _timeProvider.GetUtcNow();
            Volatile.Write(ref _lost, [.. around.Lost.Select(lost => new LostNode(lost.Location, now - lost.Ago))]);
            Compare(around.Domains);
            Announce(around.Announced);
            _drain.Set(around.IsDrained);
        }
        catch (StoreUnavailableException)
        {
            // The keeper's next step says what is wrong.
            Ask();
        }
    }

    /// <summary>Warns of nodes with another domain: visitors find a name at some of the nodes only. Once, while a node has it.</summary>
    private void Compare(IReadOnlyList<(string Node, string Domain)> domains)
    {
        var own = _node.Facts.Domain;
        var strange = new HashSet<string>(StringComparer.Ordinal);
        foreach (var (node, domain) in domains)
        {
            if (domain.Length > 0 && own.Length > 0 && domain != own && strange.Add(node) && !_strange.Contains(node))
            {
                ClusterLog.OtherDomain(_logger, node, domain, own);
            }
        }

        _strange = strange;
    }

    /// <summary>Agents of a node that is announced itself hear of others as these come: also while there are none.</summary>
    private void Announce(IReadOnlyList<AnnouncedNode> others)
    {
        var facts = _node.Facts;
        if (_announcement is { } present ? present.Node == facts.Node && present.Others.SequenceEqual(others)
            : others.Count == 0 && facts.UplinkAddress.Length == 0)
        {
            return;
        }

        Volatile.Write(ref _announcement, new NodeAnnouncement(facts.Node, facts.Zone, others));
        Announced?.Invoke();
    }

    /// <summary>Finds out whether this node is cut off, and reports it to readiness.</summary>
    public async Task CheckAsync()
    {
        if (!_hasJoined)
        {
            _hasJoined = _node.Ready is not null;
            _readiness.SetTrouble(ReadinessTrouble.Cluster, _hasJoined ? null : "has not reached the cluster's database yet");
            return;
        }

        var isCutOff = _node.Ready is null && _node.LeaseAge >= ClusterTimes.Lease && !await ReachesOneAsync().ConfigureAwait(false)
            && _node.Ready is null;
        if (isCutOff != _isCutOff)
        {
            _isCutOff = isCutOff;
            _readiness.SetTrouble(
                ReadinessTrouble.Cluster, isCutOff ? "cut off from the cluster's database and from all other nodes" : null);
            if (isCutOff)
            {
                ClusterLog.CutOff(_logger);
            }
            else
            {
                ClusterLog.NotCutOff(_logger);
            }
        }
    }

    private async Task<bool> ReachesOneAsync()
    {
        if (_reaches is not { } reaches || Volatile.Read(ref _others) is not { Count: > 0 } others)
        {
            return true;
        }

        var asking = others.Select(other => AnswersAsync(reaches(other))).ToList();
        while (asking.Count > 0)
        {
            var first = await Task.WhenAny(asking).ConfigureAwait(false);
            if (await first.ConfigureAwait(false))
            {
                return true;
            }

            asking.Remove(first);
        }

        return false;
    }

    private async Task<bool> AnswersAsync(Task<bool> answer)
    {
        try
        {
            return await answer.WaitAsync(_patience, _timeProvider).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            return false;
        }
    }
}
