using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Tests.Threading;

public sealed class StripeTests
{
    [Fact]
    public void Threads_take_the_stripes_in_turn_and_each_keeps_its_own()
    {
        var taken = new List<(int First, int Second)>();
        for (var i = 0; i < 8 * Stripe.Count; i++)
        {
            var thread = new Thread(() => taken.Add((Stripe.Current, Stripe.Current)));
            thread.Start();
            thread.Join();
        }

        Assert.All(taken, static stripes => Assert.Equal(stripes.First, stripes.Second));
        Assert.All(taken, static stripes => Assert.InRange(stripes.First, 0, Stripe.Count - 1));
        Assert.Equal(Stripe.Count, taken.Distinct().Count());
    }
}
