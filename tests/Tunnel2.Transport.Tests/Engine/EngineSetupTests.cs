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
    [InlineData("event-loop")]
    [InlineData("portable")]
    public void An_engine_applies_its_own_scheduler(string mode)
    {
        Assert.True(EngineSetup.TryParse(mode, out var parsed));
        using var engine = EngineSetup.Start(new EngineChoice(parsed, TransportMode.Sockets));
        Assert.Equal(parsed, engine.Mode);
        var settings = engine.Apply(new Multiplexing.Uplinks.UplinkSettings { Role = Multiplexing.Uplinks.UplinkRole.Agent, MaxStreams = 7 });
        Assert.Same(engine.WriterScheduler, settings.WriterScheduler);
        Assert.Equal(engine.IsInline, settings.InlineContinuations);
        Assert.Equal(engine.IsInline, settings.QuietStreams >= 0);
        Assert.Equal(7, settings.MaxStreams);
    }
}
