using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Names;

/// <summary>Sessions of one name at several nodes.</summary>
public sealed class SharedNamesTests : IAsyncDisposable
{
    private readonly ManualTimeProvider _clock = new();
    private readonly MemoryTables _tables;
    private readonly MemoryStore _store;
    private readonly MemoryStore _otherStore;
    private readonly TestNode _node;
    private readonly TestNode _other;

    public SharedNamesTests()
    {
        _tables = new MemoryTables(_clock);
        _store = new MemoryStore(_tables);
        _otherStore = new MemoryStore(_tables);
        _node = new TestNode("n1", _store, _clock);
        _other = new TestNode("n2", _otherStore, _clock);
        _tables.Changed += notice =>
        {
            _node.Directory.Hear(notice);
            _other.Directory.Hear(notice);
        };
    }

    [Fact]
    public async Task Members_of_a_pool_are_beside_each_other_and_leave_alone()
    {
        await StartAsync();
        var here = await RegisteredAsync(_node, Pooled());
        var there = await RegisteredAsync(_other, Pooled());
        Assert.Equal((here, there), (_node.Find("web"), _other.Find("web")));
        Assert.Equal(2, _tables.Serving("web").Count);
        await _node.Directory.UnregisterAsync("web", here.Epoch, true, CancellationToken.None);
        await _node.StepAsync();
        Assert.Equal("n2", Assert.Single(_tables.Serving("web")).Node);
        Assert.False(there.IsLeaving);
    }

    [Fact]
    public async Task A_member_that_comes_to_another_node_has_moved_unless_it_says_that_it_is_at_both()
    {
        await StartAsync();
        var process = AgentIdentity.OfInstance(new byte[16]);
        var first = await RegisteredAsync(_node, Pooled(process));
        await RegisteredAsync(_other, Pooled(process));
        Assert.True(first.IsLeaving);
        Assert.Null(_node.Find("web"));

        var both = AgentIdentity.OfInstance([.. Enumerable.Repeat((byte)1, 16)]);
        var one = await RegisteredAsync(_node, Pooled(both, isSpread: true));
        await RegisteredAsync(_other, Pooled(both, isSpread: true));
        Assert.False(one.IsLeaving);
        Assert.Equal(3, _tables.Serving("web").Count);
    }

    [Fact]
    public async Task One_process_at_two_nodes_keeps_both_and_another_one_takes_both()
    {
        await StartAsync();
        var process = AgentIdentity.OfInstance(new byte[16]);
        var older = new[]
        {
            await RegisteredAsync(_node, TestNode.CreateSession("web", "a", instance: process, isSpread: true)),
            await RegisteredAsync(_other, TestNode.CreateSession("web", "a", instance: process, isSpread: true)),
        };
        Assert.All(older, static session => Assert.False(session.IsLeaving));
        var stranger = await _other.RegisterAsync(TestNode.CreateSession("web", "b", isSpread: true));
        Assert.Equal(RegistrationStatus.NameTaken, stranger.Status);
        await RegisteredAsync(_node, TestNode.CreateSession("web", "a"));
        Assert.All(older, static session => Assert.True(session.IsLeaving));
        Assert.Equal("n1", Assert.Single(_tables.Serving("web")).Node);
    }

    [Fact]
    public async Task Who_does_not_share_the_name_in_the_same_way_learns_why_at_any_node()
    {
        await StartAsync();
        await RegisteredAsync(_node, Pooled());
        var alone = await _other.RegisterAsync(TestNode.CreateSession("web", "a"));
        Assert.Equal(RegistrationStatus.PoolNotPossible, alone.Status);
        Assert.Contains("start this one with --pool too", alone.Reason, StringComparison.Ordinal);

        await RegisteredAsync(_node, TestNode.CreateSession("api", "a"));
        var pooled = await _other.RegisterAsync(
            TestNode.CreateSession("api", "a", member: TestNode.CreateMember(_clock)));
        Assert.Equal(RegistrationStatus.PoolNotPossible, pooled.Status);
        Assert.Contains("without --pool", pooled.Reason, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Members_at_other_nodes_have_the_same_kind_of_tunnel()
    {
        await StartAsync();
        await RegisteredAsync(_node, Pooled());
        var other = await _other.RegisterAsync(Pooled(kind: SessionKind.Tls));
        Assert.Equal(RegistrationStatus.PoolNotPossible, other.Status);
        Assert.Contains("another kind of tunnel", other.Reason, StringComparison.Ordinal);
        await RegisteredAsync(_other, Pooled());
    }

    [Fact]
    public async Task A_member_that_was_drained_comes_back_beside_what_it_has()
    {
        await StartAsync();
        await RegisteredAsync(_other, Pooled());
        var process = AgentIdentity.OfInstance(new byte[16]);
        var drained = await RegisteredAsync(_node, Pooled(process));
        await _node.Directory.MarkLeavingAsync("web", drained.Epoch, CancellationToken.None);
        var back = await RegisteredAsync(_node, Pooled(process));
        Assert.False(drained.IsLeaving);
        await _node.Directory.UnregisterAsync("web", drained.Epoch, true, CancellationToken.None);
        await _node.StepAsync();
        Assert.Same(back, _node.Find("web"));
        Assert.Equal(2, _tables.Serving("web").Count);
    }

    [Fact]
    public async Task A_lease_that_is_over_takes_away_that_member_alone()
    {
        await StartAsync();
        await RegisteredAsync(_node, Pooled());
        var there = await RegisteredAsync(_other, Pooled());
        for (var i = 0; i < 6; i++)
        {
            _clock.Advance(TimeSpan.FromSeconds(2));
            await _other.StepAsync();
        }

        Assert.Equal("n2", Assert.Single(_tables.Serving("web")).Node);
        Assert.Same(there, _other.Find("web"));
        await _node.StepAsync();
        Assert.Equal(2, _tables.Serving("web").Count);
    }

    [Fact]
    public async Task The_health_of_a_member_is_reported_at_once_and_again_after_the_database_was_away()
    {
        await StartAsync();
        var session = await RegisteredAsync(_node, Pooled());
        var isAsked = false;
        _node.Directory.HasWork += () => isAsked = true;
        Report(session, ServiceState.Unhealthy, 1);
        Assert.True(isAsked);
        await _node.StepAsync();
        Assert.False(Assert.Single(_tables.Serving("web")).Claim.Share!.IsHealthy);

        _store.Trouble = "timed out";
        await _node.StepAsync();
        Report(session, ServiceState.Healthy, 2);
        await _node.StepAsync();
        Assert.False(Assert.Single(_tables.Serving("web")).Claim.Share!.IsHealthy);
        _store.Trouble = null;
        await _node.StepAsync();
        Assert.True(Assert.Single(_tables.Serving("web")).Claim.Share!.IsHealthy);
    }

    public async ValueTask DisposeAsync()
    {
        await _store.DisposeAsync();
        await _otherStore.DisposeAsync();
    }

    private static async Task<EntrySession> RegisteredAsync(TestNode node, EntrySession session)
    {
        var result = await node.RegisterAsync(session);
        Assert.Equal((RegistrationStatus.Registered, null), (result.Status, result.Reason));
        return session;
    }

    private void Report(EntrySession session, ServiceState state, uint counter)
    {
        Assert.True(session.Member!.Report(state, counter));
        _node.Directory.ReportHealth(session);
    }

    private EntrySession Pooled(AgentIdentity? process = null, bool isSpread = false, SessionKind kind = SessionKind.Http) =>
        TestNode.CreateSession("web", "a", instance: process, member: TestNode.CreateMember(_clock), isSpread: isSpread, kind: kind);

    private async Task StartAsync()
    {
        await _node.StepAsync();
        await _other.StepAsync();
    }
}
