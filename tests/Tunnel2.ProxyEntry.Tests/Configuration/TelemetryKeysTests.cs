using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class TelemetryKeysTests
{
    [Fact]
    public void All_of_it_is_off_unless_asked_for() => Assert.Equal(TelemetrySettings.Off, SettingsFixture.LoadValid().Telemetry);

    [Fact]
    public void All_settings_arrive() => Assert.Equal(
        new TelemetrySettings
        {
            OtlpEndpoint = new Uri("https://collector:4318/x"),
            OtlpInterval = TimeSpan.FromMinutes(1),
            SampleRatio = 0.25,
            MaxTracesPerSecond = 20,
            ServerTiming = ServerTimingMode.OnRequest,
        },
        SettingsFixture.LoadValid(
            "Otlp:Endpoint=https://collector:4318/x", "Otlp:Interval=1m", "Tracing:SampleRatio=0.25", "Tracing:MaxPerSecond=20",
            "ServerTiming=on-request").Telemetry);

    [Theory]
    [InlineData(0)]
    [InlineData(-1)]
    [InlineData(1_000_001)]
    public void A_host_that_sets_too_many_or_no_traces_a_second_is_told(int perSecond)
    {
        var told = new List<string>();
        TelemetryKeys.Check(new TelemetryOptions { MaxTracesPerSecond = perSecond }, (key, problem) => told.Add($"{key} {problem}"));
        Assert.Equal("Tracing:MaxPerSecond is not between 1 and 1000000.", Assert.Single(told));
    }

    [Theory]
    [InlineData("Otlp:Endpoint=collector:4318", "is not an address")]
    [InlineData("Otlp:Endpoint=http://me:secret@collector", "is not an address")]
    [InlineData("Otlp:Interval=10ms", "between 1s and 1h")]
    [InlineData("Tracing:SampleRatio=half", "is not a number")]
    [InlineData("Tracing:SampleRatio=1.5", "between 0 and 1")]
    [InlineData("Tracing:SampleRatio=0.5", "needs Tunnel2:Otlp:Endpoint")]
    [InlineData("Tracing:MaxPerSecond=0", "between 1 and 1000000")]
    [InlineData("Tracing:MaxPerSecond=1000001", "between 1 and 1000000")]
    [InlineData("Tracing:MaxPerSecond=-5", "is not a whole number")]
    [InlineData("Tracing:MaxPerSecond=many", "is not a whole number")]
    [InlineData("ServerTiming=sometimes", "off, on-request or always")]
    public void Mistakes_are_told(string setting, string words) =>
        Assert.Contains(words, Assert.Single(SettingsFixture.Load(setting).Errors).Message, StringComparison.Ordinal);
}
