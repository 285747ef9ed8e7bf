using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Cluster.Tests.Model;
using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Limits;

/// <summary>When a node reports which limits, without a database.</summary>
public sealed class SharedLimitsTests
{
    private static readonly AgentIdentity _process = AgentIdentity.OfInstance(new byte[16]);

    private readonly ManualTimeProvider _time = new();
    private readonly Board _board = new();
    private readonly TestNode _node;
    private readonly SharedLimits _limits;

    public SharedLimitsTests()
    {
        _node = new TestNode("n1", new MemoryStore(new MemoryTables(_time)), _time);
        _limits = _node.CreateLimits(_board, static () => 2);
        _node.Directory.Registered += _limits.Add;
    }

    private static CancellationToken Ending => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Sessions_that_share_no_name_and_those_without_a_tier_are_not_reported()
    {
        await _node.StepAsync();
        var alone = await RegisterAsync("alone", isSpread: false);
        await RegisterAsync("unlimited", isLimited: false);
        for (var i = 0; i < 100; i++)
        {
            alone.RateLimit!.TryTake();
            await PassAsync(0.1);
        }

        Assert.Equal(0, _board.Calls);
        Assert.Equal(1, alone.RateLimit!.Share);
        Assert.False(alone.RateLimit.IsShared);
    }

    [Fact]
    public async Task A_new_session_has_a_tenth_until_its_node_knows_of_the_others()
    {
        await _node.StepAsync();
        var session = await RegisterAsync("web");
        Assert.Equal(TierShares.Start, session.RateLimit!.Share);
        _board.Nodes = 3;
        await PassAsync(0);
        Assert.Equal(TierShares.Floor(3), session.RateLimit.Share);
        Assert.Null(Assert.Single(_board.Last).Part);

        // The first request that is refused is news; it gets a part at once.
        while (session.RateLimit.TryTake())
        {
        }

        await PassAsync(0.06);
        Assert.Equal(1, session.RateLimit.Share);
        Assert.Equal(1, Assert.Single(_board.Last).Part);
    }

    [Fact]
    public async Task A_node_that_no_other_shares_with_spends_all()
    {
        await _node.StepAsync();
        var session = await RegisterAsync("web");
        await PassAsync(0);
        Assert.Equal(1, session.RateLimit!.Share);
        var calls = _board.Calls;
        for (var i = 0; i < 100; i++)
        {
            session.RateLimit.TryTake();
            await PassAsync(0.1);
        }

        // Every two seconds.
        Assert.InRange(_board.Calls - calls, 4, 8);
        _board.Nodes = 2;
        _limits.Look("web");
        await PassAsync(0.01);
        Assert.True(_board.Calls > calls);
    }

    [Fact]
    public async Task So_many_names_are_reported_at_once_and_the_others_right_after()
    {
        await _node.StepAsync();
        for (var i = 0; i < SharedLimits.Most + 20; i++)
        {
            await RegisterAsync($"web{i}");
        }

        Assert.Equal(TimeSpan.Zero, await PassAsync(0));
        Assert.Equal(SharedLimits.Most, _board.Last.Count);
        await PassAsync(0.05);
        Assert.Equal(20, _board.Last.Count);
    }

    [Fact]
    public async Task One_request_is_no_flood_however_often_a_busy_name_has_all_names_counted()
    {
        _board.Nodes = 2;
        await _node.StepAsync();
        var slow = await RegisterAsync("slow", rate: 5);
        for (var i = 0; i < 100; i++)
        {
            await RegisterAsync($"web{i}");
        }

        await PassAsync(0);
        await PassAsync(0.05);
        slow.RateLimit!.TryTake();
        await PassAsync(0.05);
        _limits.Look("slow");
        await PassAsync(0.05);
        Assert.InRange(Assert.Single(_board.LastWishes, static wish => wish.Name == "slow").Demand, 0.01, 0.2);
    }

    [Fact]
    public async Task A_call_that_is_lost_is_repeated_at_once_and_further_ones_later()
    {
        _board.Nodes = 2;
        await _node.StepAsync();
        await RegisterAsync("web");
        _board.Trouble = "lost";
        Assert.Equal(ShareTimes.Least, await PassAsync(0));
        Assert.InRange(await PassAsync(0.05), TimeSpan.FromMilliseconds(150), TimeSpan.FromMilliseconds(250));
        _board.Trouble = null;
        await PassAsync(0.3);
        Assert.Equal(3, _board.Calls);
    }

    [Fact]
    public async Task A_session_that_leaves_gives_its_share_back_and_its_bucket_is_whole_again()
    {
        _board.Nodes = 2;
        await _node.StepAsync();
        var session = await RegisterAsync("web");
        await PassAsync(0);
        session.RateLimit!.TryTake();
        await PassAsync(1);
        Assert.NotNull(Assert.Single(_board.Last).Part);
        await _node.Directory.UnregisterAsync("web", session.Epoch, true, Ending);
        await PassAsync(1);
        Assert.Null(Assert.Single(_board.Last).Part);
        Assert.Equal((1, false), (session.RateLimit.Share, session.RateLimit.IsShared));
        var calls = _board.Calls;
        await PassAsync(20);
        Assert.Equal(calls, _board.Calls);
    }

    [Fact]
    public async Task Without_the_board_it_keeps_its_share_and_then_has_an_equal_part()
    {
        _board.Nodes = 4;
        await _node.StepAsync();
        var session = await RegisterAsync("web");
        await PassAsync(0);
        session.RateLimit!.TryTake();
        await PassAsync(1);
        Assert.Equal(1, session.RateLimit.Share);
        _board.Trouble = "away";
        for (var i = 0; i < 3; i++)
        {
            await PassAsync(1);
            Assert.Equal(1, session.RateLimit.Share);
        }

        for (var i = 0; i < 3; i++)
        {
            await PassAsync(1);
        }

        Assert.Equal(0.25, session.RateLimit.Share);
        _board.Trouble = null;
        _board.Forget();
        session.RateLimit.TryTake();
        await PassAsync(1);
        Assert.Equal(0.25, session.RateLimit.Share);
        for (var i = 0; i < 3; i++)
        {
            session.RateLimit.TryTake();
            await PassAsync(1);
        }

        Assert.Equal(1, session.RateLimit.Share);
    }

    [Fact]
    public async Task A_call_that_was_given_up_decides_nothing_more()
    {
        _board.Nodes = 2;
        await _node.StepAsync();
        await RegisterAsync("web");
        await PassAsync(0);
        Assert.Throws<OperationCanceledException>(() => _board.LastWishes[0].Decide(new ShareView(0, [], 1)));
    }

    private async Task<TimeSpan> PassAsync(double seconds)
    {
        _time.Advance(TimeSpan.FromSeconds(seconds));
        return await _limits.StepAsync(Ending);
    }

    private async Task<EntrySession> RegisterAsync(string name, bool isSpread = true, bool isLimited = true, int rate = 100)
    {
        var session = TestNode.CreateSession(name, "a", instance: _process, isSpread: isSpread);
        session.RateLimit = isLimited ? new SessionRateLimit(new RateTier("t", rate, rate), _time) : null;
        Assert.Equal(RegistrationStatus.Registered, (await _node.RegisterAsync(session)).Status);
        return session;
    }

    /// <summary>A board without a report of another node.</summary>
    private sealed class Board : IShareBoard
    {
        private readonly Dictionary<string, double> _own = [];

        public int Nodes { get; set; } = 1;

        public string? Trouble { get; set; }

        public int Calls { get; private set; }

        public IReadOnlyList<ShareWish> LastWishes { get; private set; } = [];

        public List<(string Name, double? Part)> Last { get; private set; } = [];

        /// <summary>What was reported is too old.</summary>
        public void Forget() => _own.Clear();

        public Task ExchangeAsync(string node, IReadOnlyList<ShareWish> wishes, TimeSpan keptFor, CancellationToken cancellationToken)
        {
            Calls++;
            LastWishes = wishes;
            if (Trouble is { } trouble)
            {
                throw new StoreUnavailableException(trouble);
            }

            Last = [.. wishes.Select(wish => (wish.Name, wish.Decide(new ShareView(_own.GetValueOrDefault(wish.Name), [], Nodes))))];
            foreach (var (name, part) in Last)
            {
                _own[name] = part ?? 0;
            }

            return Task.CompletedTask;
        }
    }
}
