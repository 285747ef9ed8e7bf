using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Tests.Threading;

public sealed class StripedCountersTests
{
    [Fact]
    public async Task What_several_threads_count_is_added_up()
    {
        const int Threads = 4;
        const int Times = 20_000;
        var counters = new StripedCounters(3);
        using var start = new Barrier(Threads);
        await Task.WhenAll(Enumerable.Range(0, Threads).Select(number => Task.Factory.StartNew(
            () =>
            {
                // Two threads on a stripe, so that they meet.
                Stripe.Use(number / 2);
                start.SignalAndWait();
                for (var i = 0; i < Times; i++)
                {
                    counters.Add(0, 1);
                    counters.Add(1, -2);
                    counters.AddFraction(2, 0.5);
                }
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default)));
        Assert.Equal(Threads * Times, counters.Sum(0));
        Assert.Equal(-2 * Threads * Times, counters.Sum(1));
        Assert.Equal(Threads * Times / 2.0, counters.SumOfFractions(2));
    }

    [Fact]
    public void Neither_counters_nor_stripes_mix()
    {
        var counters = new StripedCounters(2);
        var own = Stripe.Current;
        for (var number = 0; number < Stripe.Count; number++)
        {
            Stripe.Use(number);
            Assert.Equal(number, Stripe.Current);
            counters.Add(0, 1);
            counters.Add(1, 10 + number);
        }

        Stripe.Use(own);
        Assert.Equal(Stripe.Count, counters.Sum(0));
        Assert.Equal((10 * Stripe.Count) + (Stripe.Count * (Stripe.Count - 1) / 2), counters.Sum(1));
        Assert.Equal(0.0, new StripedCounters(1).SumOfFractions(0));
    }

    [Fact]
    public void Every_number_has_a_stripe()
    {
        var own = Stripe.Current;
        Stripe.Use(1_000_003);
        Assert.InRange(Stripe.Current, 0, Stripe.Count - 1);
        Stripe.Use(own);
        Assert.True(System.Numerics.BitOperations.IsPow2(Stripe.Count));
    }
}
