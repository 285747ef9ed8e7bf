using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Tests.Epoll;

public sealed class PollingBudgetTests
{
    private const int Patience = 100;

    [Fact]
    public void A_loop_that_knows_nothing_yet_sleeps() => Assert.Equal(0, new PollingBudget(Patience).PatienceAt(0));

    [Fact]
    public void A_short_wait_earns_a_try()
    {
        var budget = new PollingBudget(Patience);
        budget.Waited(20, events: 1);
        Assert.Equal(Patience, budget.PatienceAt(0));
    }

    [Fact]
    public void A_long_wait_earns_nothing()
    {
        var budget = new PollingBudget(Patience);
        budget.Waited(Patience, events: 1);
        Assert.Equal(0, budget.PatienceAt(0));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    public void Work_of_another_thread_counts_as_what_came(int events)
    {
        var budget = new PollingBudget(Patience);
        budget.Waited(20, events);
        Assert.Equal(Patience, budget.PatienceAt(0));
    }

    [Fact]
    public void Requests_that_come_seldom_do_not_make_a_loop_ask()
    {
        // Each a short wait (for the answer) and a long one (for the next request).
        var budget = new PollingBudget(Patience);
        var asked = 0;
        for (var i = 0; i < 1_000; i++)
        {
            budget.Waited(40, events: 1);
            asked += budget.PatienceAt(0) > 0 ? 1 : 0;
            budget.Waited(10_000, events: 1);
            asked += budget.PatienceAt(0) > 0 ? 1 : 0;
        }

        Assert.Equal(1, asked);
    }

    [Fact]
    public void After_a_long_quiet_time_some_requests_in_a_row_make_it_ask_again()
    {
        var budget = new PollingBudget(Patience);
        for (var i = 0; i < 10_000; i++)
        {
            budget.Waited(10_000, events: 1);
        }

        var waits = 0;
        while (budget.PatienceAt(0) == 0)
        {
            budget.Waited(50, events: 1);
            waits++;
        }

        Assert.Equal((PollingBudget.VainAttempts * Patience / 50) + 1, waits);
    }

    [Fact]
    public void However_long_it_went_well_only_so_many_tries_are_in_vain()
    {
        var budget = new PollingBudget(Patience);
        for (var i = 0; i < 10_000; i++)
        {
            budget.Waited(50, events: 1);
        }

        var vain = 0;
        while (budget.PatienceAt(0) > 0)
        {
            budget.Waited(1_000_000, events: 1);
            vain++;
        }

        Assert.Equal(PollingBudget.VainAttempts, vain);
    }

    [Fact]
    public void Where_several_events_come_at_once_a_loop_sleeps()
    {
        var budget = new PollingBudget(Patience);
        for (var i = 0; i < 100; i++)
        {
            budget.Waited(20, events: 1);
        }

        var waits = 0;
        while (budget.PatienceAt(0) > 0)
        {
            budget.Waited(20, events: 3);
            waits++;
        }

        Assert.InRange(waits, 1, 3);

        // One at a time again, and it asks again.
        for (var i = 0; i < 40; i++)
        {
            budget.Waited(20, events: 1);
        }

        Assert.Equal(Patience, budget.PatienceAt(0));
    }

    [Fact]
    public void Without_patience_it_never_asks()
    {
        var budget = new PollingBudget(0);
        budget.Waited(0, events: 1);
        budget.Waited(-1, events: 1);
        Assert.Equal(0, budget.PatienceAt(0));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void What_is_asked_in_vain_never_exceeds_what_was_earned_and_the_reserve(int seed)
    {
        var random = new Random(seed);
        var budget = new PollingBudget(Patience);
        var (earned, spent) = (0L, 0L);
        for (var i = 0; i < 50_000; i++)
        {
            var ticks = random.Next(4) == 0 ? random.Next(Patience, 5_000) : random.Next(Patience);
            var events = random.Next(6) == 0 ? random.Next(2, 9) : 1;
            spent += ticks >= Patience ? budget.PatienceAt(0) : 0;
            budget.Waited(ticks, events);
            earned += ticks < Patience && events == 1 ? ticks : 0;
            Assert.True(spent <= earned + Patience, $"seed {seed}, step {i}: {spent} spent of {earned}");
        }
    }

    [Fact]
    public void Beside_a_thread_that_keeps_the_processor_a_loop_sleeps_and_tries_ever_less_often()
    {
        var budget = Earned();
        var (now, tries) = (0L, 0);
        while (now < 1_000_000 * Patience)
        {
            if (budget.PatienceAt(now) > 0)
            {
                tries++;
                now += 30 * Patience;
                Assert.False(budget.WasAway(30 * Patience, now));
                Assert.Equal(0, budget.PatienceAt(now));
            }

            now += Patience;
        }

        // 100 s of 100 µs: a try in two seconds, and the first few.
        Assert.InRange(tries, 40, 60);
    }

    [Fact]
    public void A_peer_that_answers_on_the_same_processor_does_not_keep_a_loop_from_asking()
    {
        var budget = Earned();
        Assert.True(budget.WasAway(Patience, Patience));
        Assert.Equal(Patience, budget.PatienceAt(Patience));
    }

    [Fact]
    public void Who_keeps_the_processor_now_and_then_costs_a_short_pause_each_time()
    {
        var budget = Earned();
        for (var now = 0L; now < 100_000 * Patience; now += 1_000 * Patience)
        {
            Assert.Equal(Patience, budget.PatienceAt(now));
            Assert.False(budget.WasAway(30 * Patience, now));
            Assert.Equal(0, budget.PatienceAt(now + (199 * Patience)));
            Assert.Equal(Patience, budget.PatienceAt(now + (200 * Patience)));
        }
    }

    private static PollingBudget Earned()
    {
        var budget = new PollingBudget(Patience);
        budget.Waited(20, events: 1);
        return budget;
    }
}
