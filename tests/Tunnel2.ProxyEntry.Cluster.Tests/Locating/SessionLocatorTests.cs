using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Locating;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Locating;

public sealed class SessionLocatorTests : IMeterFactory
{
    private readonly ManualTimeProvider _clock = new();
    private readonly MemoryTables _tables;
    private readonly MemoryStore _store;
    private readonly NodeState _state;
    private readonly SessionLocator _locator;
    private readonly NodeLease _other;

    public SessionLocatorTests()
    {
        _tables = new MemoryTables(_clock);
        _store = new MemoryStore(_tables);
        _state = new NodeState(new NodeFacts("here", Guid.NewGuid(), "", "1"), _clock);
        _state.MarkReady(_tables.Acquire(_state.Facts, ClusterTimes.Lease, true, 0)!);
        _other = _tables.Acquire(new NodeFacts("there", Guid.NewGuid(), "there:7000", "1"), TimeSpan.FromDays(1), true, 0)!;
        _locator = new SessionLocator(_store, _state, new ClusterMetrics(this), _clock);
    }

    [Fact]
    public async Task A_name_is_asked_for_once_and_then_found_in_the_cache()
    {
        var epoch = Register("web");
        Assert.False(_locator.TryLocate("web", out _));
        var found = (await _locator.LocateAsync("web", CancellationToken.None)).Places;
        Assert.Equal(new NodeLocation("there", "there:7000", epoch), Assert.Single(found!.All).Node);
        Assert.True(_locator.TryLocate("web", out var location));
        Assert.Same(found, location);
        Assert.Equal(1, _store.Calls);
    }

    [Fact]
    public async Task Requests_for_one_name_share_one_question()
    {
        Register("web");
        var answer = new TaskCompletionSource();
        _store.Hold = answer.Task;
        var requests = Enumerable.Range(0, 100).Select(_ => _locator.LocateAsync("web", CancellationToken.None).AsTask()).ToList();
        using var left = new CancellationTokenSource();
        var leaves = _locator.LocateAsync("web", left.Token).AsTask();
        await left.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => leaves);
        answer.SetResult();
        Assert.All(await Task.WhenAll(requests), located => Assert.Equal("there", located.Places!.All[0].Node.NodeId));
        Assert.Equal(1, _store.Calls);
    }

    [Fact]
    public async Task A_name_without_an_agent_is_asked_for_once_a_second()
    {
        Assert.Null((await _locator.LocateAsync("none", CancellationToken.None)).Places);
        Assert.Null((await _locator.LocateAsync("none", CancellationToken.None)).Places);
        Assert.Equal(1, _store.Calls);
        _clock.Advance(LocationCache.UnknownFor);
        Assert.Null((await _locator.LocateAsync("none", CancellationToken.None)).Places);
        Assert.Equal(2, _store.Calls);
    }

    [Fact]
    public async Task A_wildcard_may_serve_an_unknown_domain_until_it_is_heard_of()
    {
        Assert.False(_locator.IsUnknown("app.example.org"));
        Assert.Null((await _locator.LocateAsync("app.example.org", CancellationToken.None)).Places);
        _clock.Advance(LocationCache.UnheardFor - TimeSpan.FromTicks(1));
        Assert.True(_locator.IsUnknown("app.example.org"));
        _locator.Hear(new NameNotice(StoredState.Online, "app.example.org", "there", 9, "there:7000", []));
        Assert.False(_locator.IsUnknown("app.example.org"));

        Assert.Null((await _locator.LocateAsync("b.example.org", CancellationToken.None)).Places);
        _clock.Advance(LocationCache.UnheardFor);
        Assert.False(_locator.IsUnknown("b.example.org"));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_is_heard_while_the_database_answers_is_newer_than_the_answer(bool isNotice)
    {
        // The answer was made before the registration, and comes after the notice of it.
        var answer = new TaskCompletionSource();
        _store.Hold = answer.Task;
        var asked = _locator.LocateAsync("app.example.org", CancellationToken.None).AsTask();
        if (isNotice)
        {
            _locator.Hear(new NameNotice(StoredState.Online, "app.example.org", "there", 9, "there:7000", []));
        }
        else
        {
            _locator.Clear();
        }

        answer.SetResult();
        Assert.Equal(default, await asked);
        Assert.False(_locator.IsUnknown("app.example.org"));
        Register("app.example.org");
        Assert.NotNull((await _locator.LocateAsync("app.example.org", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_place_that_its_session_has_left_while_the_database_answered_is_not_kept()
    {
        var epoch = Register("web");
        var answer = new TaskCompletionSource();
        _store.Hold = answer.Task;
        var asked = _locator.LocateAsync("web", CancellationToken.None).AsTask();
        _locator.Hear(new NameNotice(StoredState.Left, "web", "there", epoch, "", []));
        answer.SetResult();
        Assert.NotNull((await asked).Places);
        Assert.False(_locator.TryLocate("web", out _));
    }

    [Fact]
    public async Task A_name_that_registers_at_this_node_is_here_and_not_unknown()
    {
        var mine = _tables.Put(_state.Ready!, Claim("mine"), false).Epoch;
        for (var i = 0; i < 2; i++)
        {
            var location = (await _locator.LocateAsync("mine", CancellationToken.None)).Places;
            Assert.Equal(("here", mine, true), (location!.All[0].Node.NodeId, location.Newest, location.IsHere));
        }

        Assert.False(_locator.TryLocate("mine", out _));
    }

    [Fact]
    public async Task A_place_from_before_a_silence_is_used_while_the_database_cannot_be_asked()
    {
        var epoch = Register("web");
        var place = (await _locator.LocateAsync("web", CancellationToken.None)).Places;
        _locator.Clear();
        Assert.False(_locator.TryLocate("web", out _));
        _store.Trouble = "away";
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
        _state.MarkUnready("The database is away.");
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
        _locator.Hear(new NameNotice(StoredState.Left, "web", "there", epoch, "", []));
        Assert.Null((await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_place_from_before_an_outage_is_used_until_its_node_has_had_time_to_come_back()
    {
        Register("web");
        var place = (await _locator.LocateAsync("web", CancellationToken.None)).Places;
        _tables.Release(_other);
        _locator.Clear();
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
        Assert.Null((await _locator.LocateAsync("none", CancellationToken.None)).Places);
        _clock.Advance(LocationCache.DoubtedFor);
        Assert.Null((await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_place_from_before_two_silences_is_used_as_that_from_before_one()
    {
        Register("web");
        var place = (await _locator.LocateAsync("web", CancellationToken.None)).Places;
        _locator.Clear();
        _locator.Clear();
        _store.Trouble = "away";
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_place_that_was_read_as_a_silence_ended_is_used_until_its_node_has_had_time_to_come_back()
    {
        Register("web");
        var answer = new TaskCompletionSource();
        _store.Hold = answer.Task;
        var asked = _locator.LocateAsync("web", CancellationToken.None).AsTask();
        _locator.Clear();
        answer.SetResult();
        var place = (await asked).Places;
        Assert.NotNull(place);
        _tables.Release(_other);
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
        _clock.Advance(LocationCache.DoubtedFor);
        Assert.Null((await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task After_an_outage_the_time_of_the_other_nodes_begins_when_this_one_has_its_lease()
    {
        Register("web");
        var place = (await _locator.LocateAsync("web", CancellationToken.None)).Places;
        var lease = _state.Ready!;
        _state.MarkUnready("The database is slow.");

        // Changes are heard again long before a lease is renewed.
        _locator.Clear();
        _clock.Advance(LocationCache.DoubtedFor + TimeSpan.FromSeconds(3));
        _tables.Release(_other);
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
        _state.MarkReady(lease);
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
        _clock.Advance(LocationCache.DoubtedFor);
        Assert.Null((await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_place_that_was_given_up_is_the_best_guess_while_the_database_cannot_be_asked()
    {
        var epoch = Register("web");
        var place = (await _locator.LocateAsync("web", CancellationToken.None)).Places;
        _locator.Forget("web", epoch);
        Assert.False(_locator.TryLocate("web", out _));
        _store.Trouble = "away";
        Assert.Equal(place, (await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_name_that_appears_is_no_longer_unknown()
    {
        _tables.Changed += _locator.Hear;
        Assert.Null((await _locator.LocateAsync("web", CancellationToken.None)).Places);
        Register("web");
        Assert.NotNull((await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_flood_of_random_names_costs_the_database_a_set_rate()
    {
        for (var i = 0; i < 10_000; i++)
        {
            var located = await _locator.LocateAsync($"random{i}", CancellationToken.None);
            Assert.Equal(i >= SessionLocator.MissesPerSecond, located.IsUnanswered);
        }

        Assert.Equal(SessionLocator.MissesPerSecond, _store.Calls);
        _clock.Advance(TimeSpan.FromSeconds(0.5));
        for (var i = 0; i < 10_000; i++)
        {
            await _locator.LocateAsync($"other{i}", CancellationToken.None);
        }

        Assert.Equal(SessionLocator.MissesPerSecond * 3 / 2, _store.Calls);
    }

    [Fact]
    public async Task A_known_name_is_known_without_the_database_and_an_unknown_one_costs_it_nothing()
    {
        Register("web");
        await _locator.LocateAsync("web", CancellationToken.None);
        _state.MarkUnready("down");
        Assert.True(_locator.TryLocate("web", out _));
        var located = await _locator.LocateAsync("new", CancellationToken.None);
        Assert.Null(located.Places);
        Assert.True(located.IsUnanswered);
        Assert.Equal(1, _store.Calls);
    }

    [Fact]
    public async Task A_question_that_fails_says_nothing_of_the_name_and_the_next_one_asks_again()
    {
        Register("web");
        _store.Trouble = "timed out";
        var located = await _locator.LocateAsync("web", CancellationToken.None);
        Assert.Null(located.Places);
        Assert.True(located.IsUnanswered);
        _store.Trouble = null;
        Assert.NotNull((await _locator.LocateAsync("web", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task A_name_that_its_node_gave_up_is_forgotten_unless_it_is_newer()
    {
        _tables.Changed += _locator.Hear;
        var first = Register("web");
        await _locator.LocateAsync("web", CancellationToken.None);
        var second = Register("web");
        Assert.True(_locator.TryLocate("web", out var location));
        Assert.Equal(second, location.Newest);
        _locator.Forget("web", first);
        Assert.True(_locator.TryLocate("web", out _));
        _locator.Forget("web", second);
        Assert.False(_locator.TryLocate("web", out _));
    }

    [Fact]
    public async Task A_name_that_leaves_or_comes_here_is_no_longer_in_the_cache()
    {
        _tables.Changed += _locator.Hear;
        var epoch = Register("web");
        await _locator.LocateAsync("web", CancellationToken.None);
        _tables.Change(_other, new NameChange("web", epoch, StoredState.Left));
        Assert.False(_locator.TryLocate("web", out _));

        Register("api");
        await _locator.LocateAsync("api", CancellationToken.None);
        _tables.Put(_state.Ready!, Claim("api"), false);
        Assert.False(_locator.TryLocate("api", out _));
    }

    [Fact]
    public async Task Members_of_a_shared_name_come_change_and_go()
    {
        _tables.Changed += _locator.Hear;
        var first = Share("web", 1);
        await _locator.LocateAsync("web", CancellationToken.None);
        Share("web", 2);
        Assert.True(_locator.TryLocate("web", out var places));
        Assert.Equal((2, 1, 2), (places.All.Count, places.Nodes.Length, places.Nodes[0].Weight));

        _tables.Change(_other, new NameChange("web", first, StoredState.Online, IsHealthy: false));
        _locator.TryLocate("web", out places);
        Assert.Equal([0, 4], places.All.Select(static place => place.Rank));
        Assert.Equal((0, 1), (places.Nodes[0].Rank, places.Nodes[0].Weight));

        _tables.Change(_other, new NameChange("web", first, StoredState.Left, IsHealthy: false));
        _locator.TryLocate("web", out places);
        Assert.Single(places.All);

        // One of another kind takes the name as a whole.
        var alone = _tables.Put(_other, Claim("web"), true);
        Assert.Equal(ClaimStatus.Claimed, alone.Status);
        _locator.TryLocate("web", out places);
        Assert.Equal(alone.Epoch, Assert.Single(places.All).Node.Epoch);
        Assert.Equal(1, _store.Calls);
    }

    [Fact]
    public async Task A_node_that_is_forgotten_beside_others_is_asked_for_a_second_later_while_requests_continue()
    {
        var third = _tables.Acquire(new NodeFacts("third", Guid.NewGuid(), "third:1", "1"), TimeSpan.FromDays(1), true, 0)!;
        var epoch = Share("web", 1);
        Share("web", 2, third);
        await _locator.LocateAsync("web", CancellationToken.None);
        _locator.Forget("web", epoch);
        Assert.True(_locator.TryLocate("web", out var places));
        Assert.Equal("third", Assert.Single(places.All).Node.NodeId);
        Assert.Equal(1, _store.Calls);

        _clock.Advance(LocationCache.UnknownFor * 2);
        Assert.True(_locator.TryLocate("web", out _));
        Assert.Equal(2, _store.Calls);
        Assert.True(_locator.TryLocate("web", out places));
        Assert.Equal(2, places.All.Count);
        Assert.Equal(2, _store.Calls);
    }

    [Fact]
    public async Task Many_questions_leave_connections_for_the_lease()
    {
        var held = new TaskCompletionSource();
        _store.Hold = held.Task;
        var asked = Enumerable.Range(0, 50).Select(i => _locator.LocateAsync($"n{i}", CancellationToken.None).AsTask()).ToArray();
        Assert.Equal(SessionLocator.MostAsked, _store.Calls);
        _clock.Advance(TimeSpan.FromSeconds(2));
        await Task.WhenAll(asked[SessionLocator.MostAsked..]);
        Assert.Equal(SessionLocator.MostAsked, _store.Calls);
        held.SetResult();
        await Task.WhenAll(asked);
    }

    [Fact]
    public async Task No_place_stays_forgotten_where_more_were_forgotten_than_are_remembered()
    {
        const int Names = 1200;
        var third = _tables.Acquire(new NodeFacts("third", Guid.NewGuid(), "third:1", "1"), TimeSpan.FromDays(1), true, 0)!;
        var epochs = new long[Names];
        for (var i = 0; i < Names; i++)
        {
            epochs[i] = Share($"n{i}", 1);
            Share($"n{i}", 2, third);
            await _locator.LocateAsync($"n{i}", CancellationToken.None);
            _clock.Advance(TimeSpan.FromMilliseconds(10));
        }

        for (var i = 0; i < Names; i++)
        {
            _locator.Forget($"n{i}", epochs[i]);
        }

        _clock.Advance(LocationCache.UnknownFor * 2);
        for (var i = 0; i < Names; i++)
        {
            if (_locator.TryLocate($"n{i}", out _))
            {
                // Asks without waiting.
            }

            var located = await _locator.LocateAsync($"n{i}", CancellationToken.None);
            Assert.Equal(2, located.Places!.All.Count);
            _clock.Advance(TimeSpan.FromMilliseconds(10));
        }
    }

    [Fact]
    public async Task A_name_that_its_agent_has_left_is_kept_for_it_and_then_known_without_a_wait()
    {
        var epoch = Register("app.example.org");
        _tables.Change(_other, new NameChange("app.example.org", epoch, StoredState.Left, TimeSpan.FromSeconds(5), null));
        Assert.Equal(TimeSpan.FromSeconds(5), await AwaitedAsync("app.example.org"));
        Assert.False(_locator.IsUnknown("app.example.org"), "A wildcard must not serve it while it is kept.");

        // From the cache, which counts the time.
        _clock.Advance(TimeSpan.FromMilliseconds(400));
        Assert.Equal(TimeSpan.FromSeconds(4.6), await AwaitedAsync("app.example.org"));
        Assert.Equal(1, _store.Calls);
        _clock.Advance(TimeSpan.FromSeconds(4.6));
        Assert.True(_locator.IsUnknown("app.example.org"));
        Assert.Equal(TimeSpan.Zero, await AwaitedAsync("app.example.org"));
        Assert.Equal(2, _store.Calls);
        Assert.Null(await AwaitedAsync("none"));

        // It comes back.
        Register("app.example.org");
        _locator.Hear(new NameNotice(StoredState.Online, "app.example.org", "there", epoch + 1, "there:7000", []));
        Assert.NotNull((await _locator.LocateAsync("app.example.org", CancellationToken.None)).Places);
    }

    [Fact]
    public async Task The_agents_of_a_node_that_is_lost_are_expected_back_for_some_seconds()
    {
        Register("web");
        _tables.Release(_other);
        Assert.Equal(TimeSpan.FromSeconds(10), await AwaitedAsync("web"));
        _clock.Advance(TimeSpan.FromSeconds(9));
        _tables.Acquire(new NodeFacts("there", Guid.NewGuid(), "there:7000", "1"), TimeSpan.FromDays(1), true, 0);
        Assert.Equal(TimeSpan.FromSeconds(10), await AwaitedAsync("web"));
        _clock.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal(TimeSpan.Zero, await AwaitedAsync("web"));
    }

    [Fact]
    public async Task An_answer_that_was_overtaken_still_says_that_the_name_is_kept()
    {
        var epoch = Register("web");
        var answer = new TaskCompletionSource();
        _store.Hold = answer.Task;
        var asked = _locator.LocateAsync("web", CancellationToken.None).AsTask();
        _tables.Change(_other, new NameChange("web", epoch, StoredState.Left, TimeSpan.FromSeconds(5), null));
        _locator.Hear(new NameNotice(StoredState.Left, "web", "there", epoch, "", []));
        answer.SetResult();
        Assert.Equal(TimeSpan.FromSeconds(5), (await asked).AwaitedFor);
    }

    [Fact]
    public async Task The_cache_is_bounded()
    {
        var cache = new LocationCache(_clock);
        for (var i = 0; i < LocationCache.MaxNames + 500; i++)
        {
            cache.Set($"n{i}", new NodePlaces(new NodeLocation("there", "", i + 1)));
        }

        Assert.Equal(LocationCache.MaxNames, cache.Count);
        cache.Clear();
        Assert.Equal(0, cache.Count);
        await Task.CompletedTask;
    }

    [Fact]
    public async Task A_look_in_the_cache_allocates_nothing()
    {
        Register("web");
        await _locator.LocateAsync("web", CancellationToken.None);
        _locator.TryLocate("web", out _);
        var before = GC.GetAllocatedBytesForCurrentThread();
        for (var i = 0; i < 1000; i++)
        {
            _locator.TryLocate("web", out _);
            _locator.TryLocate("other", out _);
        }

        Assert.Equal(before, GC.GetAllocatedBytesForCurrentThread());
    }

    Meter IMeterFactory.Create(MeterOptions options) => new(options);

    void IDisposable.Dispose()
    {
    }

    private long Share(string name, byte member, NodeLease? node = null) => _tables.Put(
        node ?? _other, Claim(name) with { Share = new NameShare([1], [member], IsPool: true) }, false).Epoch;

    private async Task<TimeSpan?> AwaitedAsync(string name)
    {
        var located = await _locator.LocateAsync(name, CancellationToken.None);
        Assert.Null(located.Places);
        return located.AwaitedFor;
    }

    private static NameClaim Claim(string name) => new(name, [1], [1], [1]);

    private long Register(string name) => _tables.Put(_other, Claim(name), false).Epoch;
}
