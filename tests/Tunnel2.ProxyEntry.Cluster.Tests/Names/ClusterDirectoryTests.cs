using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Names;

public sealed class ClusterDirectoryTests : IAsyncDisposable
{
    private readonly ManualTimeProvider _clock = new();
    private readonly MemoryTables _tables;
    private readonly MemoryStore _store;
    private readonly MemoryStore _otherStore;
    private readonly TestNode _node;
    private readonly TestNode _other;

    public ClusterDirectoryTests()
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
    public async Task A_session_is_in_the_database_under_a_rising_epoch()
    {
        await StartAsync();
        var first = await RegisteredAsync(_node, "web", "a");
        var before = _node.EpochOf("web");
        await RegisteredAsync(_node, "web", "a");
        Assert.True(_node.EpochOf("web") > before);
        Assert.Equal(("n1", _node.EpochOf("web")), (_tables.Names["web"].Node, _tables.Names["web"].Epoch));
        Assert.True(first.IsLeaving);
    }

    [Fact]
    public async Task The_same_agent_at_another_node_takes_its_name_and_another_is_refused()
    {
        await StartAsync();
        var session = await RegisteredAsync(_node, "web", "a");
        Assert.Equal(RegistrationStatus.NameTaken, (await _other.RegisterAsync(TestNode.CreateSession("web", "b"))).Status);
        Assert.False(session.IsLeaving);
        await RegisteredAsync(_other, "web", "a");
        Assert.True(session.IsLeaving);
        Assert.Null(_node.Find("web"));
        Assert.NotNull(_other.Find("web"));
    }

    [Fact]
    public async Task An_agent_that_moves_finishes_at_its_older_node_what_is_under_way()
    {
        await StartAsync();
        var session = TestNode.CreateSession("web", "a");
        await _node.RegisterAsync(session);
        await _other.RegisterAsync(TestNode.CreateSession("web", "a", instance: session.Instance));
        Assert.Null(_node.Find("web"));
        Assert.True(session.IsLeaving);
        Assert.False(session.Tunnel.HasEnded);
        await _node.Directory.UnregisterAsync("web", session.Epoch, true, CancellationToken.None);
        await _node.StepAsync();
        Assert.Equal("n2", _tables.Locate("web").Places!.All[0].Node.NodeId);
    }

    [Fact]
    public async Task An_answer_that_was_lost_may_be_newer_than_what_is_heard_late()
    {
        await StartAsync();
        await RegisteredAsync(_node, "web", "a");
        await RegisteredAsync(_other, "api", "a");
        _store.Trouble = "cut";
        _store.LosesAnswers = true;
        var session = await RegisteredAsync(_node, "web", "a");

        // Under an epoch that another process had between the two.
        _node.Directory.Hear(new NameNotice(StoredState.Online, "web", "n2", _other.EpochOf("api"), "n2:1", new byte[32]));
        Assert.Same(session, _node.Find("web"));
        Assert.False(session.IsLeaving);
        _store.Trouble = null;
        await _node.StepAsync();
        Assert.Same(session, _node.Find("web"));
        Assert.Equal(("n1", _node.EpochOf("web")), (_tables.Names["web"].Node, _tables.Names["web"].Epoch));

        // From now on the epoch is known.
        _node.Directory.Hear(new NameNotice(StoredState.Online, "web", "n2", _node.EpochOf("web") + 1, "n2:1", new byte[32]));
        Assert.Null(_node.Find("web"));
    }

    [Fact]
    public async Task A_name_that_was_left_is_kept_for_its_owner_everywhere()
    {
        await StartAsync();
        var session = await RegisteredAsync(_node, "web", "a");
        await _node.Directory.UnregisterAsync("web", session.Epoch, true, CancellationToken.None);
        await _node.StepAsync();
        var refused = await _other.RegisterAsync(TestNode.CreateSession("web", "b"));
        Assert.Equal((RegistrationStatus.NameTaken, TestNode.KeptFor), (refused.Status, refused.FreeIn));
        _clock.Advance(TestNode.KeptFor);
        await _other.StepAsync();
        await RegisteredAsync(_other, "web", "b");
    }

    [Fact]
    public async Task An_agent_that_comes_before_the_database_knows_that_its_predecessor_left_is_asked_to_come_again()
    {
        await StartAsync();
        var session = TestNode.CreateSession("web", "a", "owner");
        await _node.RegisterAsync(session);
        var successor = TestNode.CreateSession("web", "b", "owner");
        Assert.Equal(TimeSpan.Zero, (await _node.RegisterAsync(successor)).FreeIn);
        await _node.Directory.UnregisterAsync("web", session.Epoch, true, CancellationToken.None);
        var refused = await _node.RegisterAsync(successor);
        Assert.Equal((RegistrationStatus.NameTaken, true), (refused.Status, refused.FreeIn > TimeSpan.Zero));
        await _node.StepAsync();
        Assert.Equal(RegistrationStatus.Registered, (await _node.RegisterAsync(successor)).Status);
    }

    [Fact]
    public async Task A_session_that_hands_over_lets_its_owner_take_the_name_at_another_node()
    {
        await StartAsync();
        var session = TestNode.CreateSession("web", "a", "owner");
        await _node.RegisterAsync(session);
        await _node.Directory.MarkHandingOverAsync("web", session.Epoch, CancellationToken.None);
        await _node.StepAsync();
        Assert.NotNull(_node.Find("web"));
        Assert.Equal(
            RegistrationStatus.Registered, (await _other.RegisterAsync(TestNode.CreateSession("web", "b", "owner"))).Status);
        Assert.Null(_node.Find("web"));
    }

    [Fact]
    public async Task Without_the_database_known_sessions_continue_and_their_agents_come_back_at_once_but_new_names_are_refused()
    {
        await StartAsync();
        await RegisteredAsync(_node, "web", "a");
        var epoch = _node.EpochOf("web");
        _store.Trouble = "timed out";
        for (var hour = 0; hour < 3; hour++)
        {
            await PassAsync(_node, TimeSpan.FromHours(1));
            Assert.NotNull(_node.Find("web"));
        }

        var calls = _store.Calls;
        var again = await RegisteredAsync(_node, "web", "a");
        Assert.Same(again, _node.Find("web"));
        Assert.Equal(0, _node.EpochOf("web"));
        Assert.Equal(RegistrationStatus.Unavailable, (await _node.RegisterAsync(TestNode.CreateSession("web", "b"))).Status);
        var refused = await _node.RegisterAsync(TestNode.CreateSession("new", "a"));
        Assert.Equal(RegistrationStatus.Unavailable, refused.Status);
        Assert.Contains("timed out", refused.Reason, StringComparison.Ordinal);
        Assert.Equal(calls, _store.Calls);

        _store.Trouble = null;
        await _node.StepAsync();
        Assert.True(_node.EpochOf("web") > epoch);
        Assert.Equal("n1", _tables.Names["web"].Node);
        await RegisteredAsync(_node, "new", "a");
    }

    [Fact]
    public async Task An_agent_that_left_comes_back_without_the_database_too()
    {
        await StartAsync();
        var session = await RegisteredAsync(_node, "web", "a");
        await _node.Directory.UnregisterAsync("web", session.Epoch, true, CancellationToken.None);
        _store.Trouble = "read-only";
        await _node.StepAsync();
        await RegisteredAsync(_node, "web", "a");
        _store.Trouble = null;
        await _node.StepAsync();
        Assert.Equal(_node.EpochOf("web"), _tables.Names["web"].Epoch);
    }

    [Fact]
    public async Task A_name_that_another_node_got_in_that_time_stays_there()
    {
        await StartAsync();
        await RegisteredAsync(_node, "web", "a");
        _store.Trouble = "cut";
        await _node.StepAsync();
        var mine = await RegisteredAsync(_node, "web", "a");
        await _other.StepAsync();
        await RegisteredAsync(_other, "web", "a");
        _store.Trouble = null;
        await _node.StepAsync();
        Assert.True(mine.IsLeaving);
        Assert.Null(_node.Find("web"));
        Assert.Equal("n2", _tables.Names["web"].Node);
    }

    [Fact]
    public async Task A_process_that_was_paused_serves_nothing_before_it_has_looked_and_then_what_is_still_its_own()
    {
        await StartAsync();
        var lost = await RegisteredAsync(_node, "web", "a");
        var kept = await RegisteredAsync(_node, "api", "a");
        _store.Trouble = "stopped";
        _clock.Advance(TimeSpan.FromSeconds(60));
        await _other.StepAsync();
        await _other.StepAsync();
        await RegisteredAsync(_other, "web", "b");
        Assert.Null(_node.Find("web"));
        Assert.Null(_node.Find("api"));
        Assert.Equal(NameState.Offline, _node.Directory.Find("api", out _));

        var reported = new List<EntrySession>();
        _node.Directory.Registered += reported.Add;
        _store.Trouble = null;
        await _node.StepAsync();
        Assert.True(lost.IsLeaving);
        Assert.Null(_node.Find("web"));
        Assert.Same(kept, _node.Find("api"));
        Assert.Equal([kept], reported);
        Assert.Equal(_node.EpochOf("api"), _tables.Names["api"].Epoch);
    }

    [Fact]
    public async Task A_process_that_was_paused_serves_on_when_the_database_does_not_answer_either()
    {
        await StartAsync();
        await RegisteredAsync(_node, "web", "a");
        _clock.Advance(TimeSpan.FromSeconds(60));
        Assert.Null(_node.Find("web"));
        _store.Trouble = "unreachable";
        await _node.StepAsync();
        Assert.NotNull(_node.Find("web"));
    }

    [Fact]
    public async Task A_process_that_was_paused_and_hears_that_its_lease_is_over_serves_nothing_until_it_knows_more_or_a_lease_has_passed()
    {
        await StartAsync();
        await RegisteredAsync(_node, "web", "a");
        _clock.Advance(TimeSpan.FromSeconds(60));

        // It hears that much, and then nothing.
        (_store.Trouble, _store.WorksFor) = ("timed out", 1);
        await _node.StepAsync();
        Assert.Null(_node.Find("web"));
        await _node.StepAsync();
        Assert.Null(_node.Find("web"));

        // The agents that are still connected have nowhere else to go.
        _clock.Advance(ClusterTimes.Lease);
        await _node.StepAsync();
        Assert.NotNull(_node.Find("web"));
    }

    [Fact]
    public async Task Many_agents_at_once_leave_connections_for_the_lease_and_each_has_its_turn()
    {
        await StartAsync();
        var held = new TaskCompletionSource();
        _store.HoldClaims = held.Task;
        var registering = Enumerable.Range(0, 100)
            .Select(i => _node.RegisterAsync(TestNode.CreateSession($"web{i}", "a"))).ToArray();
        await _store.Claims.WaitForAsync(ClusterDirectory.MostClaims);
        Assert.Equal(ClusterDirectory.MostClaims, _store.Claims.Value);
        await _node.StepAsync();
        Assert.NotNull(_node.State.Ready);
        held.SetResult();
        Assert.All(await Task.WhenAll(registering), static result => Assert.Equal(RegistrationStatus.Registered, result.Status));
    }

    [Fact]
    public async Task An_agent_whose_turn_does_not_come_is_asked_to_come_again_and_the_node_stays_in_the_cluster()
    {
        await StartAsync();
        await RegisteredAsync(_node, "known", "a");
        var held = new TaskCompletionSource();
        _store.HoldClaims = held.Task;
        var first = Enumerable.Range(0, ClusterDirectory.MostClaims)
            .Select(i => _node.RegisterAsync(TestNode.CreateSession($"web{i}", "a"))).ToArray();
        var late = _node.RegisterAsync(TestNode.CreateSession("late", "a"));
        var known = _node.RegisterAsync(TestNode.CreateSession("known", "a"));
        _clock.Advance(TimeSpan.FromSeconds(6));
        var refused = await late;
        Assert.Equal((RegistrationStatus.Unavailable, true), (refused.Status, refused.FreeIn > TimeSpan.Zero));
        Assert.Equal(RegistrationStatus.Registered, (await known).Status);
        Assert.NotNull(_node.State.Ready);
        held.SetResult();
        Assert.All(await Task.WhenAll(first), static result => Assert.Equal(RegistrationStatus.Registered, result.Status));
    }

    [Fact]
    public async Task A_restarted_agent_waits_for_the_lease_of_a_node_that_may_be_lost_but_not_for_one_that_lives()
    {
        await StartAsync();
        Assert.Equal(RegistrationStatus.Registered, (await _node.RegisterAsync(TestNode.CreateSession("web", "a", "owner"))).Status);
        Assert.Equal(RegistrationStatus.Registered, (await _node.RegisterAsync(TestNode.CreateSession("api", "a", "owner"))).Status);
        Assert.Equal(TimeSpan.Zero, (await _other.RegisterAsync(TestNode.CreateSession("web", "x", "stranger"))).FreeIn);

        // The node lives: the second try is refused for good.
        var first = await _other.RegisterAsync(TestNode.CreateSession("web", "b", "owner"));
        Assert.Equal((RegistrationStatus.NameTaken, true), (first.Status, first.FreeIn > TimeSpan.Zero));
        await PassAsync(_node, first.FreeIn);
        await _other.StepAsync();
        await _other.StepAsync();
        var second = await _other.RegisterAsync(TestNode.CreateSession("web", "b", "owner"));
        Assert.Equal((RegistrationStatus.NameTaken, TimeSpan.Zero), (second.Status, second.FreeIn));

        // The node is lost: the second try has the name.
        first = await _other.RegisterAsync(TestNode.CreateSession("api", "b", "owner"));
        Assert.Equal((RegistrationStatus.NameTaken, true), (first.Status, first.FreeIn > TimeSpan.Zero));
        _clock.Advance(first.FreeIn);
        await _other.StepAsync();
        await _other.StepAsync();
        Assert.Equal(RegistrationStatus.Registered, (await _other.RegisterAsync(TestNode.CreateSession("api", "b", "owner"))).Status);
    }

    [Fact]
    public async Task Names_that_the_database_lost_are_registered_again_and_those_that_it_has_too_many_are_removed()
    {
        await StartAsync();
        var session = await RegisteredAsync(_node, "web", "a");
        await RegisteredAsync(_node, "api", "a");
        var copy = _tables.Copy();
        await _node.Directory.UnregisterAsync("web", session.Epoch, false, CancellationToken.None);
        await _node.StepAsync();
        _tables.Restore(copy);
        Assert.NotNull(_tables.Locate("web").Places);
        _node.Keeper.AskForComparison();
        await _node.StepAsync();
        Assert.Equal(new LocatedName(null, TestNode.KeptFor), _tables.Locate("web"));

        _tables.Truncate(withNodes: false);
        await PassAsync(_node, ClusterTimes.Comparison);
        Assert.Equal(_node.EpochOf("api"), _tables.Locate("api").Places!.Newest);
    }

    [Fact]
    public async Task Failures_are_followed_by_waits_that_grow_to_a_limit()
    {
        _store.Trouble = "unreachable";
        var waits = new List<TimeSpan>();
        for (var i = 0; i < 12; i++)
        {
            waits.Add(await _node.StepAsync());
        }

        Assert.Equal(12, _store.Calls);
        Assert.InRange(waits[0], ClusterTimes.FirstWait * 0.7, ClusterTimes.FirstWait);
        Assert.All(waits[6..], wait => Assert.InRange(wait, ClusterTimes.LongestWait * 0.7, ClusterTimes.LongestWait));
    }

    [Fact]
    public async Task Of_two_processes_with_one_name_the_older_takes_another()
    {
        await StartAsync();
        await RegisteredAsync(_node, "web", "a");
        var twin = new TestNode("n1", new MemoryStore(_tables), _clock);
        await twin.StepAsync();
        await PassAsync(_node, ClusterTimes.Renewal);
        Assert.StartsWith("n1~", _node.State.Facts.Node, StringComparison.Ordinal);
        Assert.Equal(_node.State.Facts.Node, _tables.Names["web"].Node);
        Assert.Equal("n1", twin.State.Facts.Node);
        Assert.NotNull(_node.Find("web"));
    }

    [Fact]
    public async Task A_look_up_allocates_nothing()
    {
        await StartAsync();
        await RegisteredAsync(_node, "web", "a");
        _node.Directory.Find("web", out _);
        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 1000; i++)
        {
            _node.Directory.Find("web", out _);
        }

        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
    }

    public async ValueTask DisposeAsync()
    {
        await _store.DisposeAsync();
        await _otherStore.DisposeAsync();
    }

    private static async Task<EntrySession> RegisteredAsync(TestNode node, string name, string agent)
    {
        var session = TestNode.CreateSession(name, agent);
        var result = await node.RegisterAsync(session);
        Assert.Equal((RegistrationStatus.Registered, null), (result.Status, result.Reason));
        return session;
    }

    private async Task StartAsync()
    {
        await _node.StepAsync();
        await _other.StepAsync();
    }

    /// <summary>Lets time pass as for a keeper that works: one step after each of its waits.</summary>
    private async Task PassAsync(TestNode node, TimeSpan time)
    {
        var wait = await node.StepAsync();
        for (var left = time; left > TimeSpan.Zero; left -= wait)
        {
            _clock.Advance(wait);
            wait = await node.StepAsync();
        }
    }
}
