using Tunnel2.Client.Core.Reconnect;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Reconnect;

public sealed class FullJitterBackoffTests
{
    private static readonly TimeSpan _stable = TimeSpan.FromMinutes(1);

    /// <summary>Draws the largest value there is, so that the delays are the ceilings.</summary>
    private sealed class HighestRandom : Random
    {
        public override double NextDouble() => 1 - 1e-12;
    }

    private static double[] Ceilings(FullJitterBackoff backoff, ManualTimeProvider time, int count, double advanceSeconds)
    {
        var ceilings = new double[count];
        for (int i = 0; i < count; i++)
        {
            ceilings[i] = Math.Round(backoff.NextDelay(TimeSpan.Zero).TotalSeconds, 3);
            time.Advance(TimeSpan.FromSeconds(advanceSeconds));
        }

        return ceilings;
    }

    [Fact]
    public void The_ceiling_doubles_to_2_s_while_the_outage_is_young_and_to_30_s_after()
    {
        var time = new ManualTimeProvider();
        var backoff = new FullJitterBackoff(time, new HighestRandom());

        // One attempt every 2 s: the first five fall into the first 10 s.
        Assert.Equal([0.5, 1, 2, 2, 2, 2, 4, 8, 16, 30, 30], Ceilings(backoff, time, 11, advanceSeconds: 2));
    }

    [Fact]
    public void An_outage_that_the_server_announced_stays_young_until_it_has_surely_been_started_again()
    {
        var time = new ManualTimeProvider();
        var backoff = new FullJitterBackoff(time, new HighestRandom());
        Assert.Equal(0.5, backoff.NextDelay(TimeSpan.FromSeconds(1), announced: true).TotalSeconds, 3);
        Assert.Equal([1, 2, 2, 2], Ceilings(backoff, time, 4, advanceSeconds: 20));
        Assert.Equal([2, 2, 4], Ceilings(backoff, time, 3, advanceSeconds: 10));
    }

    [Fact]
    public void An_announcement_begins_the_outage_anew()
    {
        var time = new ManualTimeProvider();
        var backoff = new FullJitterBackoff(time, new HighestRandom());
        Ceilings(backoff, time, 9, advanceSeconds: 2);
        Assert.Equal(0.5, backoff.NextDelay(TimeSpan.FromSeconds(1), announced: true).TotalSeconds, 3);
    }

    [Fact]
    public void A_young_outage_never_waits_for_more_than_2_s()
    {
        var time = new ManualTimeProvider();
        var backoff = new FullJitterBackoff(time, new HighestRandom());

        Assert.Equal(2, Ceilings(backoff, time, 100, advanceSeconds: 0.05).Max());
    }

    [Fact]
    public void Delays_are_spread_over_the_whole_range()
    {
        var time = new ManualTimeProvider();
        var random = new Random(20261121);
        var firstDelays = new double[2000];
        for (int i = 0; i < firstDelays.Length; i++)
        {
            firstDelays[i] = new FullJitterBackoff(time, random).NextDelay(TimeSpan.Zero).TotalSeconds;
        }

        Assert.All(firstDelays, static delay => Assert.InRange(delay, 0, 0.5));
        for (int tenth = 0; tenth < 10; tenth++)
        {
            double from = tenth * 0.05;
            Assert.InRange(firstDelays.Count(delay => delay >= from && delay < from + 0.05), 120, 280);
        }
    }

    [Fact]
    public void An_agent_is_back_within_2_s_of_a_server_that_was_away_for_2_s()
    {
        for (int seed = 0; seed < 1000; seed++)
        {
            var time = new ManualTimeProvider();
            var backoff = new FullJitterBackoff(time, new Random(seed));
            time.Advance(backoff.NextDelay(_stable));
            while (time.Elapsed < TimeSpan.FromSeconds(2))
            {
                time.Advance(backoff.NextDelay(TimeSpan.Zero));
            }

            Assert.True(time.Elapsed <= TimeSpan.FromSeconds(4), $"seed {seed}: back after {time.Elapsed}");
        }
    }

    [Fact]
    public void A_connection_that_lived_for_10_s_starts_the_delays_anew()
    {
        var time = new ManualTimeProvider();
        var backoff = new FullJitterBackoff(time, new HighestRandom());
        Assert.Equal(30, Ceilings(backoff, time, 20, advanceSeconds: 5)[^1]);

        Assert.Equal(0.5, backoff.NextDelay(TimeSpan.FromSeconds(10)).TotalSeconds, 3);
        Assert.Equal([1, 2, 2], Ceilings(backoff, time, 3, advanceSeconds: 0.1));
    }

    [Fact]
    public void A_connection_that_lived_for_less_does_not()
    {
        var time = new ManualTimeProvider();
        var backoff = new FullJitterBackoff(time, new HighestRandom());
        Ceilings(backoff, time, 20, advanceSeconds: 5);

        Assert.Equal(30, backoff.NextDelay(TimeSpan.FromSeconds(9.999)).TotalSeconds, 3);
    }

    [Fact]
    public void A_server_s_retry_after_is_the_minimum_and_the_jitter_comes_on_top()
    {
        var random = new Random(7);
        var seen = new HashSet<TimeSpan>();
        for (int i = 0; i < 100; i++)
        {
            TimeSpan delay = new FullJitterBackoff(new ManualTimeProvider(), random).NextDelay(TimeSpan.Zero, TimeSpan.FromSeconds(60));
            Assert.InRange(delay, TimeSpan.FromSeconds(60), TimeSpan.FromSeconds(60.5));
            seen.Add(delay);
        }

        Assert.True(seen.Count > 90);
    }

    [Theory]
    [InlineData(-5)]
    [InlineData(0)]
    public void A_retry_after_that_says_nothing_changes_nothing(int seconds)
    {
        TimeSpan delay = new FullJitterBackoff(
            new ManualTimeProvider(), new HighestRandom()).NextDelay(TimeSpan.Zero, TimeSpan.FromSeconds(seconds));

        Assert.Equal(0.5, delay.TotalSeconds, 3);
    }

    [Fact]
    public void A_retry_after_beyond_reason_is_cut_to_an_hour()
    {
        TimeSpan delay = new FullJitterBackoff(new ManualTimeProvider(), new Random(1)).NextDelay(TimeSpan.Zero, TimeSpan.MaxValue);

        Assert.InRange(delay, TimeSpan.FromHours(1), TimeSpan.FromHours(1.001));
    }

    [Fact]
    public void While_another_session_serves_the_first_delays_are_up_to_five_seconds_and_the_others_as_they_were()
    {
        var time = new ManualTimeProvider();
        var backoff = new FullJitterBackoff(time, new HighestRandom());
        Assert.Equal(5, backoff.NextDelay(TimeSpan.FromHours(1), isServed: true).TotalSeconds, 3);
        Assert.Equal(1, backoff.NextDelay(TimeSpan.Zero).TotalSeconds, 3);
        Assert.Equal(5, backoff.NextDelay(TimeSpan.Zero, isServed: true).TotalSeconds, 3);
        time.Advance(TimeSpan.FromSeconds(10));
        foreach (var ceiling in (double[])[5, 5, 8, 16, 30])
        {
            Assert.Equal(ceiling, backoff.NextDelay(TimeSpan.Zero, isServed: true).TotalSeconds, 3);
        }
    }
}
