using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class TelemetrySettingsTests
{
    [Fact]
    public void All_of_it_is_off_unless_asked_for()
    {
        var telemetry = SettingsFixture.LoadValid().Telemetry;
        Assert.Equal(
            (null, TimeSpan.FromSeconds(15), 0d, 1000, ServerTimingMode.Off),
            (telemetry.OtlpEndpoint, telemetry.OtlpInterval, telemetry.SampleRatio, telemetry.MaxTracesPerSecond, telemetry.ServerTiming));
    }

    [Fact]
    public void All_settings_arrive()
    {
        var telemetry = SettingsFixture.LoadValid(
            "Otlp:Endpoint=https://collector:4318/x", "Otlp:Interval=1m", "Tracing:SampleRatio=0.25", "Tracing:MaxPerSecond=20",
            "ServerTiming=on-request").Telemetry;
        Assert.Equal(
            (new Uri("https://collector:4318/x"), TimeSpan.FromMinutes(1), 0.25, 20, ServerTimingMode.OnRequest),
            (telemetry.OtlpEndpoint, telemetry.OtlpInterval, telemetry.SampleRatio, telemetry.MaxTracesPerSecond, telemetry.ServerTiming));
    }

    [Fact]
    public void A_password_in_an_address_is_not_shown() => Assert.DoesNotContain(
        "secret", Assert.Single(SettingsFixture.Load("Otlp:Endpoint=http://me:secret@collector").Errors).Message, StringComparison.Ordinal);

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
    public void Mistakes_are_reported(string setting, string words) =>
        Assert.Contains(words, Assert.Single(SettingsFixture.Load(setting).Errors).Message, StringComparison.Ordinal);
}
