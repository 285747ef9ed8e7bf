using System.Xml.Linq;
using Tunnel2.Client.Services;

namespace Tunnel2.Client.Tests.Services;

public sealed class LaunchdManagerTests
{
    private static readonly ServiceDefinition _service = new(
        new ServiceId("web", IsOfUser: true), ["/usr/local/bin/tunnel2"], "/Users/alice/a <b> & \"c\".yml")
    {
        Token = "s3cret",
        Variables = [new("TUNNEL2_SERVER", "tunnel.example.com")],
    };

    private readonly LaunchdManager _manager = new("", static name => name == "HOME" ? "/Users/alice" : null);

    [Fact]
    public void A_property_list_has_what_the_service_is_and_no_token()
    {
        string text = _manager.Describe(_service);
        Assert.Contains(LaunchdManager.Mark, text, StringComparison.Ordinal);
        Assert.StartsWith("<?xml version=\"1.0\" encoding=\"utf-8\"?>", text, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", text, StringComparison.Ordinal);
        XElement[] entries = [.. XDocument.Parse(text).Root!.Element("dict")!.Elements()];
        Dictionary<string, XElement> values = entries.Chunk(2).ToDictionary(static pair => pair[0].Value, static pair => pair[1]);
        Assert.Equal("dev.tunnel2.agent.web", values["Label"].Value);
        Assert.Equal(
            [
                "/usr/local/bin/tunnel2", "start", "--config", "/Users/alice/a <b> & \"c\".yml", "--token-file",
                "/Users/alice/Library/Application Support/Tunnel2/tunnel2-agent-web/token",
            ],
            values["ProgramArguments"].Elements().Select(static word => word.Value));
        Assert.Equal("tunnel.example.com", values["EnvironmentVariables"].Element("string")!.Value);
        Assert.Equal("true", values["RunAtLoad"].Name.LocalName);
        Assert.Equal("/Users/alice/Library/Logs/Tunnel2/tunnel2-agent-web.log", values["StandardOutPath"].Value);
    }

    [Fact]
    public void A_service_of_the_machine_needs_an_ordinary_user_who_gets_the_files()
    {
        ServiceDefinition service = _service with { Id = new ServiceId(null, IsOfUser: false) };
        Assert.Contains("--run-as", _manager.MistakeOf(service), StringComparison.Ordinal);
        service = service with { RunAs = "alice" };
        Assert.Null(_manager.MistakeOf(service));
        Assert.Contains("<key>UserName</key>", _manager.Describe(service), StringComparison.Ordinal);
        string[] steps = [.. _manager.Install(service).Select(static step => step.ToString())];
        Assert.Contains("chown alice /Library/Logs/Tunnel2/tunnel2-agent.log", steps);
        Assert.Equal("launchctl load -w /Library/LaunchDaemons/dev.tunnel2.agent.plist", steps[^1]);
        Assert.DoesNotContain("s3cret", string.Join('\n', steps), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/a\nb")]
    [InlineData("/a\u0001b")]
    public void What_xml_cannot_have_is_refused(string path) => Assert.NotNull(_manager.MistakeOf(_service with { ConfigFile = path }));

    [Fact]
    public void What_launchctl_lists_is_read()
    {
        Assert.Equal(ServiceState.None, _manager.Read(113, "Could not find service"));
        Assert.Equal(
            new ServiceState(true, "running", true) { StartsByItself = true, ProcessId = 77 },
            _manager.Read(0, "{\n\t\"LastExitStatus\" = 512;\n\t\"PID\" = 77;\n};\n"));
        Assert.Equal(
            new ServiceState(true, "stopped", false) { StartsByItself = true, ExitCode = 2 },
            _manager.Read(0, "{\n\t\"LastExitStatus\" = 512;\n};\n"));
    }
}
