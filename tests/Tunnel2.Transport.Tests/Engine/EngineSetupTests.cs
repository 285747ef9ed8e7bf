using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests.Engine;

public class EngineSetupTests
{
    [Theory]
    [InlineData(EngineMode.Auto, true, EngineMode.Epoll)]
    [InlineData(EngineMode.Auto, false, EngineMode.Portable)]
    [InlineData(EngineMode.Epoll, true, EngineMode.Epoll)]
    [InlineData(EngineMode.Portable, true, EngineMode.Portable)]
    [InlineData(EngineMode.Portable, false, EngineMode.Portable)]
    public void Auto_is_epoll_where_it_is_available(EngineMode mode, bool hasEpoll, EngineMode expected) =>
        Assert.Equal(expected, EngineSetup.Choose(mode, hasEpoll));

    [Theory]
    [InlineData(null, EngineMode.Auto)]
    [InlineData("", EngineMode.Auto)]
    [InlineData("AUTO", EngineMode.Auto)]
    [InlineData("Epoll", EngineMode.Epoll)]
    [InlineData("portable", EngineMode.Portable)]
    public void Names_are_read_in_any_case(string? text, EngineMode expected)
    {
        Assert.Null(EngineSetup.FindMistake(text, out var mode));
        Assert.Equal(expected, mode);
    }

    [Theory]
    [InlineData("eventloop")]
    [InlineData("sockets")]
    [InlineData("pipelines")]
    [InlineData("0")]
    [InlineData(" auto")]
    public void Other_names_are_refused(string text) =>
        Assert.Equal("is not an engine; use auto, epoll or portable", EngineSetup.FindMistake(text, out _));

    [Fact]
    public void The_earlier_name_of_epoll_is_refused_and_says_so() =>
        Assert.Equal("is not an engine any more; epoll is its name now", EngineSetup.FindMistake("Event-Loop", out _));

    [Theory]
    [InlineData(EngineMode.Auto, false, false)]
    [InlineData(EngineMode.Portable, false, false)]
    [InlineData(EngineMode.Epoll, true, false)]
    [InlineData(EngineMode.Epoll, false, true)]
    public void Only_epoll_may_be_missing(EngineMode mode, bool hasEpoll, bool isMissing) =>
        Assert.Equal(
            isMissing ? "is not available here, it needs Linux on x64 or arm64; use auto or portable" : null,
            EngineSetup.FindObstacle(mode, hasEpoll));

    [Theory]
    [InlineData(EngineMode.Epoll, true)]
    [InlineData(EngineMode.Portable, false)]
    public void An_engine_applies_its_own_scheduler(EngineMode mode, bool hasLoop)
    {
        Assert.SkipUnless(mode != EngineMode.Epoll || EngineSetup.HasEpoll, "epoll");
        using var engine = EngineSetup.Start(mode, loops: 2);
        Assert.Equal(mode, engine.Mode);
        Assert.Equal((hasLoop, hasLoop ? 2 : 0), (engine.IsInline, engine.Loops.Count));
        var settings = engine.Apply(new UplinkSettings { Role = UplinkRole.Agent, MaxStreams = 7 });
        Assert.Same(hasLoop ? engine.Loops[0] : PipeScheduler.ThreadPool, settings.WriterScheduler);
        Assert.Equal(engine.IsInline, settings.InlineContinuations);
        Assert.Equal(engine.IsInline, settings.QuietStreams >= 0);
        Assert.Equal(7, settings.MaxStreams);
    }

    [Fact]
    public void What_is_started_by_default_is_what_this_system_has()
    {
        using var engine = EngineSetup.Start(EngineMode.Auto, loops: 1);
        Assert.Equal(EngineSetup.HasEpoll ? EngineMode.Epoll : EngineMode.Portable, engine.Mode);
    }
}
