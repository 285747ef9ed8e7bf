using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Text;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Supervision;

/// <summary>Both programs below a service manager: what it hears of them, and what it thinks of their units.</summary>
[UnsupportedOSPlatform("windows")]
public sealed class SupervisionTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();
    private readonly Socket _manager = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);

    public SupervisionTests() => _manager.Bind(new UnixDomainSocketEndPoint(_folder["notify"]));

    public void Dispose()
    {
        _manager.Dispose();
        _folder.Dispose();
    }

    [Theory]
    [InlineData("entry")]
    [InlineData("agent")]
    public async Task The_manager_hears_that_a_program_is_ready_that_it_serves_and_that_it_stops(string name)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "systemd's protocol");
        using var port = new RefusedPort();
        string[] words = name == "entry"
            ?
            [
                BuiltPrograms.EntryPath, "--Tunnel2:Public:HttpListen=127.0.0.1:0", "--Tunnel2:Uplink:Listen=127.0.0.1:0",
                "--Tunnel2:Admin:Listen=127.0.0.1:0", "--Tunnel2:Live=false",
            ]
            : [BuiltPrograms.AgentPath, "http", "9", "--server", $"127.0.0.1:{port.Port}"];
        await using var program = ProcessRunner.Start(
            "env",
            ["--default-signal=INT,TERM", "dotnet", .. words],
            new Dictionary<string, string?>
            {
                ["NOTIFY_SOCKET"] = _folder["notify"],
                ["WATCHDOG_USEC"] = "300000",
                ["WATCHDOG_PID"] = null,
            },
            Path.GetTempPath());
        Assert.StartsWith("READY=1\nSTATUS=", await ReceiveAsync(), StringComparison.Ordinal);
        for (int i = 0; i < 3; i++)
        {
            Assert.StartsWith("WATCHDOG=1\n", await ReceiveAsync(), StringComparison.Ordinal);
        }

        program.Terminate();
        string message = await ReceiveAsync();
        while (message.StartsWith("WATCHDOG=1\n", StringComparison.Ordinal))
        {
            message = await ReceiveAsync();
        }

        Assert.StartsWith("STOPPING=1\n", message, StringComparison.Ordinal);
        Assert.Equal(0, await program.WaitForExitAsync(Limits.Work));
    }

    [Theory]
    [InlineData("deploy/systemd/tunnel2-entry.service")]
    [InlineData("deploy/systemd/tunnel2@.service")]
    public async Task Systemd_finds_no_fault_in_the_shipped_units_and_little_that_they_could_harm(string unit)
    {
        Assert.SkipUnless(File.Exists("/usr/bin/systemd-analyze"), "systemd-analyze");
        string path = Path.Combine(RepositoryFolder.Path, unit);
        ShellResult verified = await Shell.RunAsync("systemd-analyze", "--man=no", "verify", path);

        // The program itself need not be installed here; units of this machine have faults of their own.
        string[] faults =
        [
            .. verified.Output.Split('\n').Where(line => line.Contains(Path.GetFileName(path), StringComparison.Ordinal)
                && !line.Contains("is not executable", StringComparison.Ordinal)),
        ];
        Assert.Equal([], faults);
        ShellResult judged = await Shell.RunAsync("systemd-analyze", "security", "--offline=true", "--threshold=20", path);
        Assert.True(judged.ExitCode == 0, judged.Output);
    }

    private async Task<string> ReceiveAsync()
    {
        using var limit = new CancellationTokenSource(Limits.Start);
        byte[] bytes = new byte[4096];
        int length = await _manager.ReceiveAsync(bytes, SocketFlags.None, limit.Token);
        return Encoding.UTF8.GetString(bytes, 0, length);
    }
}
