using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests.Engine;

public class EngineSetupTests
{
    // The mode by its name: the enum is internal, test methods are not.
    [Theory]
    [InlineData("auto", 1, true, "EventLoop")]
    [InlineData("auto", 2, true, "EventLoop")]
    [InlineData("auto", 3, true, "Portable")]
    [InlineData("auto", 64, true, "Portable")]
    [InlineData("auto", 1, false, "Portable")]
    [InlineData("event-loop", 1, true, "EventLoop")]
    [InlineData("event-loop", 64, true, "EventLoop")]
    [InlineData("event-loop", 1, false, "Portable")]
    [InlineData("portable", 1, true, "Portable")]
    [InlineData("portable", 64, false, "Portable")]
    public void The_mode_follows_the_setting_the_processors_and_the_system(string mode, int processors, bool isLinux, string expected)
    {
        Assert.True(EngineSetup.TryParse(mode, out var parsed));
        Assert.Equal(expected, EngineSetup.Choose(parsed, processors, isLinux).ToString());
    }

    [Theory]
    [InlineData(null, "Auto")]
    [InlineData("", "Auto")]
    [InlineData("AUTO", "Auto")]
    [InlineData("Event-Loop", "EventLoop")]
    [InlineData("portable", "Portable")]
    public void Names_are_read_in_any_case(string? text, string expected)
    {
        Assert.True(EngineSetup.TryParse(text, out var mode));
        Assert.Equal(expected, mode.ToString());
    }

    [Theory]
    [InlineData("eventloop")]
    [InlineData("0")]
    [InlineData(" auto")]
    public void Other_names_are_refused(string text) => Assert.False(EngineSetup.TryParse(text, out _));

    [Theory]
    [InlineData("auto", "auto", 2, true, true, "EventLoop", "Epoll")]
    [InlineData("auto", "auto", 2, true, false, "EventLoop", "Sockets")]
    [InlineData("auto", "auto", 8, true, true, "Portable", "Sockets")]
    [InlineData("auto", "epoll", 8, true, true, "EventLoop", "Epoll")]
    [InlineData("auto", "epoll", 2, false, false, "Portable", "Sockets")]
    [InlineData("auto", "sockets", 2, true, true, "EventLoop", "Sockets")]
    [InlineData("event-loop", "auto", 8, true, true, "EventLoop", "Epoll")]
    [InlineData("event-loop", "sockets", 1, true, true, "EventLoop", "Sockets")]
    [InlineData("portable", "epoll", 2, true, true, "Portable", "Sockets")]
    public void The_transport_follows_the_engine(string mode, string transport, int processors, bool isLinux, bool hasEpoll, string expected, string expectedTransport)
    {
        Assert.True(EngineSetup.TryParse(mode, out var parsed));
        Assert.True(EngineSetup.TryParseTransport(transport, out var parsedTransport));
        var choice = EngineSetup.Choose(parsed, parsedTransport, processors, isLinux, hasEpoll);
        Assert.Equal(expected, choice.Mode.ToString());
        Assert.Equal(expectedTransport, choice.Transport.ToString());
    }

    [Theory]
    [InlineData("event-loop", "epoll", true)]
    [InlineData("event-loop", "sockets", false)]
    [InlineData("portable", "sockets", false)]
    public void An_engine_applies_its_own_scheduler(string mode, string transport, bool hasLoop)
    {
        Assert.True(EngineSetup.TryParse(mode, out var parsed));
        Assert.True(EngineSetup.TryParseTransport(transport, out var parsedTransport));
        using var engine = EngineSetup.Start(new EngineChoice(parsed, parsedTransport));
        Assert.Equal(parsed, engine.Mode);
        Assert.Equal(hasLoop, engine.Loop is not null);
        var settings = engine.Apply(new Multiplexing.Uplinks.UplinkSettings { Role = Multiplexing.Uplinks.UplinkRole.Agent, MaxStreams = 7 });
        Assert.Same(engine.WriterScheduler, settings.WriterScheduler);
        Assert.Equal(engine.IsInline, settings.InlineContinuations);
        Assert.Equal(engine.IsInline, settings.QuietStreams >= 0);
        Assert.Equal(7, settings.MaxStreams);
    }
}
