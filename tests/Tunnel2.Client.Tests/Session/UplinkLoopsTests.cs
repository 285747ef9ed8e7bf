using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Session;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Tests.Session;

public sealed class UplinkLoopsTests
{
    private readonly IdleConnections _tunnel = new();
    private readonly IdleConnections _other = new();

    [Fact]
    public void An_uplink_that_joins_gets_a_loop_of_its_own_until_there_may_be_no_more()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        using var engine = new EpollEngine(1, most: 3);
        var loops = new UplinkLoops(engine);
        Assert.Equal([0, 1, 2, 0, 1], Enumerable.Range(0, 5).Select(i => loops.Take(_tunnel, joins: i > 0)!.Loop.Number));
        Assert.Equal(3, engine.Loops.Count);
    }

    [Fact]
    public void The_first_uplink_of_a_session_starts_no_loop()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        using var engine = new EpollEngine(1, most: 3);
        var loops = new UplinkLoops(engine);
        Assert.All(Enumerable.Range(0, 3), _ => Assert.Equal(0, loops.Take(new IdleConnections(), joins: false)!.Loop.Number));
        Assert.Single(engine.Loops);
    }

    [Fact]
    public void A_loop_that_became_free_is_used_before_one_is_started_and_a_tunnel_prefers_where_it_has_fewest()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        using var engine = new EpollEngine(1, most: 3);
        var loops = new UplinkLoops(engine);
        var first = loops.Take(_tunnel, joins: false)!;
        var second = loops.Take(_tunnel, joins: true)!;
        Assert.Equal((0, 1), (first.Loop.Number, second.Loop.Number));
        second.Dispose();
        second.Dispose();
        Assert.Equal(1, loops.Take(_tunnel, joins: true)!.Loop.Number);
        Assert.Equal(2, engine.Loops.Count);

        // Of another tunnel: the number of its own uplinks counts first, then that of all.
        first.Dispose();
        Assert.Equal(0, loops.Take(_other, joins: false)!.Loop.Number);
        Assert.Equal(2, loops.Take(_other, joins: true)!.Loop.Number);
        Assert.Equal(0, loops.Take(_tunnel, joins: false)!.Loop.Number);
    }

    [Fact]
    public void Without_loops_there_are_no_places()
    {
        using var engine = new PortableEngine();
        Assert.Null(new UplinkLoops(engine).Take(_tunnel, joins: true));
    }
}
