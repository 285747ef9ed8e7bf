using Tunnel2.Client.Services;

namespace Tunnel2.Client.Tests.Services;

public sealed class WindowsManagerTests
{
    private static readonly ServiceDefinition _service = new(
        new ServiceId(null, IsOfUser: false), [@"C:\Program Files\Tunnel2\tunnel2.exe"], @"C:\Tunnel 2\tunnels.yml")
    {
        Token = "s3cret",
        Variables = [new("TUNNEL2_SERVER", "tunnel.example.com")],
    };

    private readonly WindowsManager _manager = new(static name => name == "ProgramData" ? @"D:\Data" : null);

    [Fact]
    public void The_commands_make_a_service_with_an_account_of_its_own_and_show_no_token()
    {
        string text = _manager.Describe(_service);
        Assert.DoesNotContain("s3cret", text, StringComparison.Ordinal);
        string[] lines = text.Split('\n');
        Assert.Contains(
            "sc.exe create tunnel2-agent binPath= \"\\\"C:\\Program Files\\Tunnel2\\tunnel2.exe\\\" start --config "
                + "\\\"C:\\Tunnel 2\\tunnels.yml\\\" --token-file D:\\Data\\Tunnel2\\tunnel2-agent\\token\" start= auto obj= "
                + "\"NT SERVICE\\tunnel2-agent\" DisplayName= \"Tunnel2 agent\"",
            lines);
        Assert.Contains(
            @"reg.exe add HKLM\SYSTEM\CurrentControlSet\Services\tunnel2-agent /v Environment /t REG_MULTI_SZ /d "
                + @"TUNNEL2_SERVER=tunnel.example.com\0TUNNEL2_WINDOWS_SERVICE=tunnel2-agent /f",
            lines);

        // The folder is closed before the token is in it.
        List<ServiceStep> steps = [.. _manager.Install(_service)];
        int closed = steps.FindIndex(static step => step.ToString().StartsWith("icacls.exe", StringComparison.Ordinal));
        int written = steps.FindIndex(static step => step is ServiceStep.Write { IsSecret: true, Text: "s3cret\n" });
        Assert.True(closed >= 0 && closed < written);
    }

    [Theory]
    [InlineData("plain", "plain")]
    [InlineData("", "\"\"")]
    [InlineData("a b", "\"a b\"")]
    [InlineData("a\"b", "\"a\\\"b\"")]
    [InlineData(@"a b\", "\"a b\\\\\"")]
    [InlineData(@"a\b", @"a\b")]
    [InlineData(@"a\""b c", "\"a\\\\\\\"b c\"")]
    public void Words_are_quoted_as_programs_of_windows_read_them(string word, string line) =>
        Assert.Equal(line, WindowsManager.CommandLine([word]));

    [Theory]
    [InlineData(@"C:\%TEMP%\tunnels.yml")]
    [InlineData("C:\\a\nb")]
    [InlineData("C:\\a\"b")]
    public void What_a_command_line_would_change_is_refused(string path) =>
        Assert.NotNull(_manager.MistakeOf(_service with { ConfigFile = path }));

    [Fact]
    public void Users_have_no_services_and_accounts_are_not_chosen()
    {
        Assert.Contains("--user", _manager.MistakeOf(_service with { Id = new ServiceId(null, true) }), StringComparison.Ordinal);
        Assert.Contains("--run-as", _manager.MistakeOf(_service with { RunAs = "alice" }), StringComparison.Ordinal);
        Assert.Null(_manager.MistakeOf(_service));
    }

    [Fact]
    public void What_sc_says_is_read_in_any_language()
    {
        Assert.Equal(ServiceState.None, _manager.Read(1060, "The specified service does not exist"));
        Assert.Null(_manager.Read(5, "Access is denied."));
        const string Text =
            """

            SERVICE_NAME: tunnel2-agent
                    TYPE               : 10  WIN32_OWN_PROCESS
                    STATUS             : {0}
                                            (STOPPABLE, NOT_PAUSABLE, ACCEPTS_SHUTDOWN)
                    WIN32_EXIT_CODE    : {1}
                    SERVICE_EXIT_CODE  : 0  (0x0)
                    PID                : {2}
            """;
        Assert.Equal(
            new ServiceState(true, "running", true) { StartsByItself = true, ProcessId = 4711 },
            _manager.Read(0, Text.Replace("{0}", "4  RUNNING", StringComparison.Ordinal)
                .Replace("{1}", "0  (0x0)", StringComparison.Ordinal).Replace("{2}", "4711", StringComparison.Ordinal)));
        Assert.Equal(
            new ServiceState(true, "stopped", false) { StartsByItself = true, ExitCode = 1 },
            _manager.Read(0, Text.Replace("{0}", "1  STOPPED", StringComparison.Ordinal)
                .Replace("{1}", "1  (0x1)", StringComparison.Ordinal).Replace("{2}", "0", StringComparison.Ordinal)));
    }
}
