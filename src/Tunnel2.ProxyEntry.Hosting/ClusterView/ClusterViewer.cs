using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>
/// The live view over all nodes of a cluster (decision 0033). While a viewer here subscribes to <c>cluster.nodes</c>, <c>cluster.stats</c>
/// or <c>at.{node}.…</c>, it has a feed of every node, this one included, adds up what can be added, and shows the rest under the node's
/// name. Otherwise it has none, and compares one number four times a second. Thread-safe.
/// </summary>
internal sealed class ClusterViewer : IAsyncDisposable
{
    /// <summary>Nodes that are shown at most.</summary>
    public const int MostNodes = 64;

    /// <summary>How long a lost node is shown.</summary>
    public static readonly TimeSpan Memory = LostNode.ShownFor;

    private static readonly TimeSpan _tick = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(4);

    /// <summary>Ticks between two messages about a node, and between two questions to the directory.</summary>
    private const int TicksPerMessage = 4;
    private const int TicksPerQuestion = 20;

    private readonly Hub? _hub;
    private readonly IOtherNodes _others;
    private readonly FeedOpener _open;
    private readonly TimeProvider _time;
    private readonly ContainedFaults _faults;
    private readonly ClusterStatistics _statistics;
    private readonly HubMessageWriter _message = new();
    private readonly WindowMessage _window = new();
    private readonly Dictionary<string, WatchedNode> _nodes = new(StringComparer.Ordinal);
    private readonly Lock _gate = new();
    private readonly CancellationTokenSource _stop = new();
    private Task _running = Task.CompletedTask;
    private Wanted _wanted = Wanted.Nothing;
    private string? _self;
    private long _version = -1;
    private int _ticks;

    public ClusterViewer(
        LivePlane plane, LinkFeeds feeds, NodeLinks links, IOtherNodes others, TimeProvider time,
        ContainedFaults faults)
        : this(
            plane.Hub, others, time, faults,
            async (location, stop) => location.LinkAddress.Length == 0
                ? (new OwnFeed(feeds), null)
                : await links.OpenFeedAsync(location, _patience, stop).ConfigureAwait(false))
    {
    }

    internal ClusterViewer(Hub? hub, IOtherNodes others, TimeProvider time, ContainedFaults faults, FeedOpener open)
    {
        (_hub, _others, _time, _faults, _open) = (hub, others, time, faults, open);
        _statistics = new ClusterStatistics(time, PublishSum);
    }

    /// <summary>Nodes whose feeds are followed now.</summary>
    internal int Followed
    {
        get
        {
            lock (_gate)
            {
                return _nodes.Count;
            }
        }
    }

    /// <summary>Looks for viewers from now on.</summary>
    public void Start()
    {
        if (_hub is not null)
        {
            Step(_hub);
            _running = RunAsync(_hub);
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        await _running.ConfigureAwait(false);
        _message.Dispose();
        _window.Dispose();
        _stop.Dispose();
    }

    /// <summary>One look.</summary>
    internal void Step(Hub hub)
    {
        lock (_gate)
        {
            if (_others.Self is var self && self != _self)
            {
                NameUnsynchronized(hub, self);
            }

            if (_version != hub.SubscriptionVersion)
            {
                _version = hub.SubscriptionVersion;
                _wanted = hub.IsClosing ? Wanted.Nothing : Wanted.Of(hub);
            }

            if (_wanted.Any && !hub.IsClosing)
            {
                FollowUnsynchronized(hub);
            }
            else if (_nodes.Count > 0)
            {
                EndUnsynchronized(hub);
            }
        }
    }

    private async Task RunAsync(Hub hub)
    {
        using var timer = new PeriodicTimer(_tick, _time);
        try
        {
            while (await timer.WaitForNextTickAsync(_stop.Token).ConfigureAwait(false))
            {
                _faults.Run("view of the cluster", static both => both.Self.Step(both.Hub), (Self: this, Hub: hub));
            }
        }
        catch (OperationCanceledException)
        {
            // The server stops.
        }

        List<Task> ends;
        lock (_gate)
        {
            ends = [.. _nodes.Values.Select(static node => node.Running)];
            EndUnsynchronized(hub);
        }

        await Task.WhenAll(ends).ConfigureAwait(false);
    }

    /// <summary>Another process may have had this node's name from some moment on.</summary>
    private void NameUnsynchronized(Hub hub, string self)
    {
        if (_self is { } before && _nodes.TryGetValue(before, out var node))
        {
            ForgetUnsynchronized(hub, before, node);
        }

        _self = self;
        var json = _message.Begin();
        json.WriteStartObject();
        json.WriteString("node"u8, self);
        json.WriteEndObject();
        hub.Publish(hub.GetChannel("cluster.info"), "cluster", _message.End());
    }

    private void FollowUnsynchronized(Hub hub)
    {
        if (_ticks % TicksPerQuestion == 0)
        {
            _others.Ask();
        }

        var known = _others.Known;
        AddUnsynchronized(hub, new NodeLocation(_self!, "", 0));
        foreach (var other in known)
        {
            AddUnsynchronized(hub, other);
        }

        // Those that were lost before a viewer looked.
        var since = _time.GetUtcNow() - Memory;
        foreach (var other in _others.Lost.Where(other => other.At >= since))
        {
            AddUnsynchronized(hub, other.Location, other.At);
        }

        foreach (var (name, node) in _nodes)
        {
            node.View.Look();
            node.WantUnsynchronized(_wanted.For(name));
            if (node.View.LostFor > Memory && known.All(other => other.NodeId != name))
            {
                ForgetUnsynchronized(hub, name, node);
            }
        }

        _statistics.Look(_nodes.Values.Count(static node => node.View.IsCounted));
        if (_ticks++ % TicksPerMessage == 0)
        {
            foreach (var node in _nodes.Values)
            {
                node.View.Write(_message.Begin());
                hub.Publish(hub.GetChannel("cluster.nodes"), node.View.Name, _message.End());
            }
        }
    }

    private void AddUnsynchronized(Hub hub, NodeLocation location, DateTimeOffset? lostAt = null)
    {
        if (_nodes.TryGetValue(location.NodeId, out var present))
        {
            if (lostAt is null)
            {
                present.MoveUnsynchronized(location);
            }

            return;
        }

        if (_nodes.Count < MostNodes && ChannelName.KindOf(location.NodeId) == ChannelNameKind.Channel && !location.NodeId.Contains('.'))
        {
            var node = new WatchedNode(
                location, new NodeView(location.NodeId, location.NodeId == _self, _time), new MirroredChannels(hub, location.NodeId),
                _statistics, _open, _time, _faults, _gate);
            if (lostAt is { } at)
            {
                node.View.MarkLost(at);
            }

            _nodes.Add(location.NodeId, node);
            node.Start();
            _ticks = 0;
        }
    }

    private void ForgetUnsynchronized(Hub hub, string name, WatchedNode node)
    {
        _nodes.Remove(name);
        EndUnsynchronized(node);

        // The channel has a key for each node, and no key can be taken out of it.
        hub.RemoveChannel(hub.GetChannel("cluster.nodes"));
        _ticks = 0;
    }

    private void EndUnsynchronized(Hub hub)
    {
        foreach (var node in _nodes.Values)
        {
            EndUnsynchronized(node);
        }

        _nodes.Clear();
        _statistics.Clear();
        _ticks = 0;
        hub.RemoveChannel(hub.GetChannel("cluster.nodes"));
        hub.RemoveChannel(hub.GetChannel("cluster.stats"));
    }

    private static void EndUnsynchronized(WatchedNode node)
    {
        node.StopUnsynchronized();
        _ = node.Running.ContinueWith(
            static (_, ended) => ((WatchedNode)ended!).Dispose(), node, CancellationToken.None, TaskContinuationOptions.None,
            TaskScheduler.Default);
    }

    /// <summary>With the lock held: a sum is given out by a look.</summary>
    private void PublishSum(long start, int seconds, int nodes, WindowCell cell)
    {
        var sessions = _nodes.Values.Sum(static node => node.View.Sessions);
        var missed = _nodes.Values.Sum(static node => node.View.Missed);
        _hub!.Publish(
            _hub.GetChannel("cluster.stats"), WindowMessage.Key(seconds),
            _window.OfCluster(cell.ToResult(0, start, seconds), cell, nodes, sessions, missed));
    }
}
