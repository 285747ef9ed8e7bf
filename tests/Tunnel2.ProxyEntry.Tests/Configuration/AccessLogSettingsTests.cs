using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Tests.Configuration;

public sealed class AccessLogSettingsTests
{
    [Fact]
    public void It_is_off_unless_asked_for() => Assert.Equal(AccessLogMode.Off, SettingsFixture.LoadValid().AccessLog.Mode);

    [Fact]
    public void All_settings_arrive()
    {
        var settings = SettingsFixture.LoadValid(
            "AccessLog:Mode=Sampled", "AccessLog:Format=text", "AccessLog:Path=/tmp/access.log", "AccessLog:SampleRate=0.5",
            "AccessLog:MaxFileBytes=2 MB", "AccessLog:MaxFiles=3", "AccessLog:Query=true").AccessLog;

        Assert.Equal((AccessLogMode.Sampled, AccessLogFormat.Text, "/tmp/access.log"), (settings.Mode, settings.Format, settings.FilePath));
        Assert.Equal(
            (0.5, 2 * 1024 * 1024, 3, true),
            (settings.SampleRate, settings.MaxFileBytes, settings.MaxFiles, settings.IncludesQuery));
    }

    [Fact]
    public void A_full_log_has_every_request() =>
        Assert.Equal(1, SettingsFixture.LoadValid("AccessLog:Mode=full", "AccessLog:SampleRate=0.5").AccessLog.SampleRate);

    [Theory]
    [InlineData("AccessLog:Mode=some", "off, sampled or full")]
    [InlineData("AccessLog:Mode=2", "off, sampled or full")]
    [InlineData("AccessLog:Format=xml", "json or text")]
    [InlineData("AccessLog:SampleRate=1.5", "above 0 and up to 1")]
    [InlineData("AccessLog:SampleRate=often", "is not a number")]
    [InlineData("AccessLog:MaxFileBytes=64 apples", "is not a size")]
    [InlineData("AccessLog:MaxFileBytes=9000000000 GB", "is not a size")]
    [InlineData("AccessLog:MaxFileBytes=1", "less than 4096")]
    [InlineData("AccessLog:MaxFiles=0", "between 1 and 1000")]
    [InlineData("AccessLog:Path=/tmp", "is a folder")]
    [InlineData("AccessLog:Path=/no/such/folder/access.log", "does not exist")]
    [InlineData("AccessLog:Pth=/tmp/a", "did you mean Tunnel2:AccessLog:Path?")]
    public void A_mistake_is_reported_with_its_key(string setting, string part)
    {
        string[] settings = setting.StartsWith("AccessLog:Mode=", StringComparison.Ordinal)
            ? [setting]
            : ["AccessLog:Mode=sampled", setting];
        var error = Assert.Single(SettingsFixture.Load(settings).Errors);

        Assert.Equal("Tunnel2:" + setting.Split('=')[0], error.Key);
        Assert.Contains(part, error.Message, StringComparison.Ordinal);
    }
}
