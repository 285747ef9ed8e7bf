using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Supervision;

namespace Tunnel2.Transport.Tests.Supervision;

public sealed class LoopPulseTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task A_loop_that_does_no_round_between_two_looks_is_noticed_and_so_is_its_return()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        using var engine = new EpollEngine(loops: 2);
        var pulse = new LoopPulse(engine);
        Assert.True(pulse.Look());
        await WaitSignal.UntilAsync(pulse.Look, "both loops do rounds", _limit);
        await using var held = await HeldLoop.HoldAsync(engine.Loops[1]);
        pulse.Look();
        Assert.False(pulse.Look());
        Assert.False(pulse.Look());

        held.Release();
        await WaitSignal.UntilAsync(pulse.Look, "the held loop does rounds again", _limit);
    }

    [Fact]
    public async Task A_loop_that_has_died_stays_noticed()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        using var engine = new EpollEngine(loops: 2) { OutlivesLoops = true };
        var pulse = new LoopPulse(engine);
        LoopFault.TakeAway(engine.Loops[1]);
        await WaitSignal.UntilAsync(() => !engine.Loops[1].IsInService, "the loop has died", _limit);
        Assert.False(pulse.Look());
        Assert.False(pulse.Look());
    }

    [Fact]
    public void An_engine_without_loops_always_has_a_pulse()
    {
        using var engine = new PortableEngine();
        var pulse = new LoopPulse(engine);
        Assert.True(pulse.Look());
        Assert.True(pulse.Look());
    }
}
