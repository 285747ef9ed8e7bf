using Tunnel2.ProxyEntry.Connections;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Connections;

public sealed class DeliveryTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromMilliseconds(100);

    private readonly ManualTimeProvider _time = new();

    [Fact]
    public async Task A_link_that_sees_all_is_asked_once() =>
        Assert.Equal(1, await LooksAsync(new Link([0]) { SeesAllSent = true }));

    [Fact]
    public async Task Bytes_that_come_out_of_a_buffer_after_the_socket_was_empty_are_waited_for() =>
        Assert.Equal(7, await LooksAsync(new Link([0, 16_668, 5, 0, 0, 0, 0])));

    [Fact]
    public async Task A_visitor_that_takes_nothing_is_waited_for_until_the_limit() =>
        Assert.InRange(await LooksAsync(new Link([100]) { SeesAllSent = true }), 2, 1 + (_limit / TimeSpan.FromMilliseconds(5)));

    [Fact]
    public async Task A_visitor_that_stalls_for_minutes_costs_a_few_looks_a_second()
    {
        var link = new Link([100]) { SeesAllSent = true };
        var waiting = Delivery.WaitAsync(link, static () => false, _time, TimeSpan.FromMinutes(5)).AsTask();
        await WaitSignal.UntilAsync(
            () =>
            {
                _time.Advance(TimeSpan.FromMilliseconds(250));
                return waiting.IsCompleted;
            },
            "it has waited long enough");
        await waiting;
        Assert.InRange(link.Looks, 2, 1300);
    }

    [Fact]
    public async Task A_lost_link_is_not_waited_for() => Assert.Equal(0, await LooksAsync(new Link([100]) { IsLost = true }));

    private async Task<int> LooksAsync(Link link)
    {
        var waiting = Delivery.WaitAsync(link, static () => false, _time, _limit).AsTask();
        await WaitSignal.UntilAsync(
            () =>
            {
                _time.Advance(TimeSpan.FromMilliseconds(5));
                return waiting.IsCompleted;
            },
            "it has waited long enough");
        await waiting;
        return link.Looks;
    }

    /// <summary>Returns one figure after the other, and the last one from then on.</summary>
    private sealed class Link(int[] undelivered) : IVisitorLinkFeature
    {
        private int _looks;

        public int Looks => Volatile.Read(ref _looks);

        public bool IsLost { get; init; }

        public bool SeesAllSent { get; init; }

        public int Undelivered => undelivered[Math.Min(Interlocked.Increment(ref _looks), undelivered.Length) - 1];
    }
}
