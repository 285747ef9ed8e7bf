using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Keeping;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Keeping;

public sealed class NodeWatchTests : IDisposable
{
    private static readonly NodeLocation[] _others = [new("e2", "e2:1", 0), new("e3", "e3:1", 0)];

    private readonly ManualTimeProvider _clock = new();
    private readonly Readiness _readiness = new();
    private readonly DrainSignal _signal = new();
    private readonly UplinkHeartbeat _uplinks;
    private readonly MemoryStore _store;
    private readonly NodeState _state;
    private readonly NodeWatch _watch;
    private readonly HashSet<string> _reached = ["e2", "e3"];
    private readonly NodeLease _lease = new("e1", 7);

    public NodeWatchTests()
    {
        _uplinks = new UplinkHeartbeat(_clock);
        _store = new MemoryStore(new MemoryTables(_clock)) { Around = new NodeSurroundings(false, _others) };
        _state = new NodeState(new NodeFacts("e1", Guid.NewGuid(), "e1:1", "1"), _clock);
        _state.MarkReady(_lease);
        _readiness.MarkReady();
        _watch = new NodeWatch(
            _store, _state, new NodeDrain(_signal, _readiness, _uplinks, NullLogger<NodeDrain>.Instance), _readiness, _clock,
            NullLogger<NodeWatch>.Instance, other => Task.FromResult(_reached.Contains(other.NodeId)));
    }

    [Theory]
    [InlineData(true, "e2 e3", true)]
    [InlineData(true, "", true)]
    [InlineData(false, "e3", true)]
    [InlineData(false, "", false)]
    public async Task A_node_without_its_database_and_without_any_other_node_is_not_ready(bool hasDatabase, string reached, bool isReady)
    {
        await _watch.CheckAsync();
        await _watch.LookAsync(CancellationToken.None);
        _reached.IntersectWith(reached.Split(' '));
        if (!hasDatabase)
        {
            _state.MarkUnready("The database is away.");
        }

        _clock.Advance(ClusterTimes.Lease);
        await _watch.CheckAsync();
        Assert.Equal(isReady, _readiness.IsReady);
    }

    [Fact]
    public async Task It_is_not_ready_when_its_lease_is_over_and_not_before_and_again_when_it_reaches_one()
    {
        await _watch.CheckAsync();
        await _watch.LookAsync(CancellationToken.None);
        _reached.Clear();
        _state.MarkUnready("The database is away.");
        await _watch.CheckAsync();
        Assert.True(_readiness.IsReady);
        _clock.Advance(ClusterTimes.Lease);
        await _watch.CheckAsync();
        Assert.Equal("cut off from the cluster's database and from all other nodes", _readiness.Reason);
        _reached.Add("e3");
        await _watch.CheckAsync();
        Assert.True(_readiness.IsReady);
    }

    [Fact]
    public async Task A_node_is_not_ready_before_its_first_lease()
    {
        _state.MarkUnready("The database was not reached yet.");
        await _watch.CheckAsync();
        Assert.Equal("has not reached the cluster's database yet", _readiness.Reason);
        _state.MarkReady(_lease);
        await _watch.CheckAsync();
        Assert.True(_readiness.IsReady);
        _state.MarkUnready("The database is away.");
        await _watch.CheckAsync();
        Assert.True(_readiness.IsReady);
    }

    [Fact]
    public async Task A_node_that_has_no_others_stays_ready()
    {
        await _watch.CheckAsync();
        _store.Around = new NodeSurroundings(false, []);
        await _watch.LookAsync(CancellationToken.None);
        _state.MarkUnready("The database is away.");
        _clock.Advance(ClusterTimes.Lease);
        await _watch.CheckAsync();
        Assert.True(_readiness.IsReady);
    }

    [Fact]
    public async Task A_node_is_taken_out_of_service_at_the_next_look_or_at_once_when_it_is_asked_to_look()
    {
        await _watch.LookAsync(CancellationToken.None);
        _store.Around = new NodeSurroundings(true, _others);
        await _watch.LookAsync(CancellationToken.None);
        Assert.Equal((true, false), (_readiness.IsReady, _signal.IsDraining));
        _watch.Ask();
        await _watch.LookAsync(CancellationToken.None);
        Assert.Equal((false, true), (_readiness.IsReady, _signal.IsDraining));
        Assert.Equal("taken out of service by 'cluster drain'", _readiness.Reason);
        _store.Around = new NodeSurroundings(false, _others);
        _clock.Advance(ClusterTimes.Comparison);
        await _watch.LookAsync(CancellationToken.None);
        Assert.Equal((true, false), (_readiness.IsReady, _signal.IsDraining));
    }

    [Fact]
    public async Task A_look_that_failed_is_made_up_for()
    {
        _store.Trouble = "away";
        await _watch.LookAsync(CancellationToken.None);
        _store.Trouble = null;
        _store.Around = new NodeSurroundings(true, _others);
        await _watch.LookAsync(CancellationToken.None);
        Assert.False(_readiness.IsReady);
    }

    [Fact]
    public async Task What_agents_learn_is_announced_when_it_has_changed_and_only_then()
    {
        var announced = 0;
        _watch.Announced += () => announced++;
        await LookAsync();
        Assert.Null(_watch.Announcement);
        Assert.Equal(0, announced);
        await LookAsync(new AnnouncedNode("e2", "192.0.2.2", 1, "b"));
        await LookAsync(new AnnouncedNode("e2", "192.0.2.2", 1, "b"));
        Assert.Equal(("e2", 1), (Assert.Single(_watch.Announcement!.Others).Node, announced));
        await LookAsync();
        Assert.Equal((0, 2), (_watch.Announcement!.Others.Count, announced));

        Task LookAsync(params AnnouncedNode[] nodes)
        {
            _store.Around = new NodeSurroundings(false, _others) { Announced = nodes };
            _watch.Ask();
            return _watch.LookAsync(CancellationToken.None);
        }
    }

    public void Dispose() => _uplinks.Dispose();
}
