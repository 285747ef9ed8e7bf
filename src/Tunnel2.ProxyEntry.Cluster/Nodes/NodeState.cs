using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Nodes;

/// <summary>
/// What this node knows about its own place in the cluster: its lease, and until when it may serve its names without another look at the
/// database. Thread-safe.
/// </summary>
/// <remarks>
/// The fence is a moment, not a state: a process that was stopped for a minute finds the moment passed before it does anything else.
/// While the database does not answer, each failed look moves it on, because then no other node can have taken a name that others could
/// see.
/// </remarks>
internal sealed class NodeState
{
    /// <summary>Half of the sequence's numbers: millions of them a second come here in a hundred thousand years.</summary>
    public const long MostEpoch = long.MaxValue / 2;

    private readonly TimeProvider _timeProvider;
    private NodeFacts _facts;
    private NodeLease? _ready;
    private string _trouble = "The database was not reached yet.";
    private long _servesUntil = long.MaxValue;
    private long _renewedAt;
    private long _readyAt;
    private long _floor;

    public NodeState(NodeFacts facts, TimeProvider timeProvider)
    {
        _facts = facts;
        _timeProvider = timeProvider;
        _renewedAt = timeProvider.GetTimestamp();
        _readyAt = _renewedAt;
    }

    /// <summary>What the node says of itself.</summary>
    public NodeFacts Facts => Volatile.Read(ref _facts);

    /// <summary>The lease for new registrations; null while there is none, or while names are still being published.</summary>
    public NodeLease? Ready => Volatile.Read(ref _ready);

    /// <summary>How long ago new registrations last began to go to the database.</summary>
    public TimeSpan ReadyFor => _timeProvider.GetElapsedTime(Volatile.Read(ref _readyAt));

    /// <summary>Why there is none.</summary>
    public string Trouble => Volatile.Read(ref _trouble);

    /// <summary>Whether the node may serve its names. A stopped process that continues may not, until it has looked.</summary>
    public bool MayServe => _timeProvider.GetTimestamp() <= Volatile.Read(ref _servesUntil);

    /// <summary>The time since the lease was last renewed.</summary>
    public TimeSpan LeaseAge => _timeProvider.GetElapsedTime(Volatile.Read(ref _renewedAt));

    /// <summary>The highest epoch that this node has seen.</summary>
    public long Floor => Volatile.Read(ref _floor);

    /// <summary>Where this node accepts node links; set before it is started.</summary>
    public void SetLinkAddress(string address) => _facts = _facts with { LinkAddress = address };

    /// <summary>Another process has this node's name, so it takes a further one.</summary>
    public void Rename() => Volatile.Write(ref _facts, _facts with { Node = $"{_facts.Node}~{_facts.Process.ToString("N")[..6]}" });

    /// <summary>
    /// An epoch was seen. One that no clock leads to is a mistake, made by hand: the sequence, lifted over it, would have no numbers left.
    /// </summary>
    public void See(long epoch)
    {
        if (epoch > MostEpoch)
        {
            return;
        }

        var known = Volatile.Read(ref _floor);
        while (epoch > known && Interlocked.CompareExchange(ref _floor, epoch, known) is var before && before != known)
        {
            known = before;
        }
    }

    /// <summary>The lease was renewed or given by a call that began at <paramref name="sent"/>.</summary>
    public void Renewed(long sent) => Volatile.Write(ref _renewedAt, sent);

    /// <summary>New registrations go to the database.</summary>
    public void MarkReady(NodeLease lease)
    {
        if (Ready is null)
        {
            Volatile.Write(ref _readyAt, _timeProvider.GetTimestamp());
        }

        Volatile.Write(ref _ready, lease);
        MoveFence(Volatile.Read(ref _renewedAt), ClusterTimes.Lease - ClusterTimes.Margin);
    }

    /// <summary>New registrations cannot go to the database.</summary>
    public void MarkUnready(string trouble)
    {
        Volatile.Write(ref _trouble, trouble);
        Volatile.Write(ref _ready, null);
    }

    /// <summary>Names that are known may be served until the next look, which follows within <paramref name="wait"/>.</summary>
    public void ServeUntilNextLook(TimeSpan wait)
    {
        var until = Volatile.Read(ref _servesUntil);
        MoveFence(_timeProvider.GetTimestamp(), wait + ClusterTimes.Look);
        if (until != long.MaxValue && until > _servesUntil)
        {
            Volatile.Write(ref _servesUntil, until);
        }
    }

    private void MoveFence(long from, TimeSpan by) =>
        Volatile.Write(ref _servesUntil, from + (long)(by.TotalSeconds * _timeProvider.TimestampFrequency));
}
