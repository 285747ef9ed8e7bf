using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Limits;

public sealed class HandshakeQueueTests
{
    private static readonly int _atOnce = HandshakePace.AtOnce * Environment.ProcessorCount;

    private readonly ManualTimeProvider _time = new();
    private bool _hasOthers = true;

    [Fact]
    public async Task Beside_other_nodes_agents_that_come_at_once_begin_one_after_the_other()
    {
        var queue = Create(() => _hasOthers, places: 1_000);
        var turns = Come(queue, _atOnce + 1);
        Assert.Equal(_atOnce, turns.Count(static turn => turn.IsCompleted));
        _time.Advance(HandshakePace.Longest);
        Assert.True(await turns[^1]);
    }

    [Fact]
    public void A_quarter_of_the_places_is_for_those_that_wait()
    {
        var queue = Create(() => _hasOthers, places: 8);
        var turns = Come(queue, _atOnce + 5);
        Assert.Equal(_atOnce + 3, turns.Count(static turn => turn.IsCompleted));
    }

    [Fact]
    public void A_server_that_is_alone_lets_all_of_them_begin()
    {
        _hasOthers = false;
        Assert.All(Come(Create(() => _hasOthers, places: 8), 1_000), static turn => Assert.True(turn.IsCompleted));
        Assert.All(Come(Create(null, places: 8), 1_000), static turn => Assert.True(turn.IsCompleted));
    }

    private static List<Task<bool>> Come(HandshakeQueue queue, int count) =>
        [.. Enumerable.Range(0, count).Select(_ => queue.WaitForTurnAsync(CancellationToken.None).AsTask())];

    private HandshakeQueue Create(Func<bool>? hasOthers, int places) =>
        new(new ConnectionLimit("handshakes", places, places), _time, hasOthers);
}
