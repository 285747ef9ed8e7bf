using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests.Engine;

public sealed class LoopGrowthTests
{
    [Fact]
    public void Loops_are_added_up_to_the_most_and_numbered()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        using var engine = new EpollEngine(1, most: 3);
        Assert.Equal(2, ((IEngine)engine).SpareLoops);
        var (second, third) = (engine.TryAddLoop(), engine.TryAddLoop());
        Assert.Null(engine.TryAddLoop());
        Assert.Equal([engine.Loops[0], second!, third!], engine.Loops);
        Assert.Equal([0, 1, 2], engine.Loops.Select(static loop => loop.Number));
        Assert.Equal(0, ((IEngine)engine).SpareLoops);
    }

    [Fact]
    public void An_engine_with_a_set_number_adds_none()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        using var engine = new EpollEngine(2);
        Assert.Null(engine.TryAddLoop());
        Assert.Equal(2, engine.Loops.Count);
    }

    [Fact]
    public void An_engine_that_has_ended_adds_none()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        var engine = new EpollEngine(1, most: 3);
        engine.Dispose();
        Assert.Null(engine.TryAddLoop());
    }

    [Fact]
    public void The_portable_engine_has_none_to_add()
    {
        using IEngine engine = new PortableEngine();
        Assert.Equal((0, null), (engine.SpareLoops, engine.TryAddLoop()));
    }
}
