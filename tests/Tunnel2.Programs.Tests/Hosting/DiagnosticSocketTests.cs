using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Text.RegularExpressions;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Hosting;

/// <summary>
/// The runtime's diagnostic socket, with what the systemd units and the containers set: open to the operator, closed to others.
/// </summary>
[UnsupportedOSPlatform("windows")]
public sealed partial class DiagnosticSocketTests
{
    private const string EntryUnit = "deploy/systemd/tunnel2-entry.service";
    private const string AgentUnit = "deploy/systemd/tunnel2@.service";

    [Theory]
    [InlineData(EntryUnit)]
    [InlineData(AgentUnit)]
    public async Task It_answers_and_only_its_owner_reaches_it(string unit)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Units are systemd's.");
        using var folder = new TemporaryFolder();
        var environment = VariablesOf(unit);
        Assert.Equal("0", environment["DOTNET_EnableDiagnostics_Debugger"]);
        Assert.Equal("0", environment["DOTNET_EnableDiagnostics_Profiler"]);
        Assert.DoesNotContain("DOTNET_EnableDiagnostics", environment.Keys);
        environment["TMPDIR"] = folder[""];
        environment["DOTNET_EnableDiagnostics"] = null;
        using var port = new RefusedPort();
        string[] arguments = unit == EntryUnit
            ?
            [
                BuiltPrograms.EntryPath, "--Tunnel2:Public:HttpListen=127.0.0.1:0", "--Tunnel2:Uplink:Listen=127.0.0.1:0",
                "--Tunnel2:Admin:Listen=127.0.0.1:0", "--Tunnel2:Live=false",
            ]
            : [BuiltPrograms.AgentPath, "http", "9", "--server", $"127.0.0.1:{port.Port}"];
        await using var program = ProcessRunner.Start(
            "bash", ["-c", "umask 0; exec dotnet \"$0\" \"$@\"", .. arguments], environment, Path.GetTempPath());
        await program.WaitForLineAsync(static _ => true, Limits.Start);

        var path = Assert.Single(Directory.GetFiles(folder[""], "dotnet-diagnostic-*-socket"));
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified) { ReceiveTimeout = 20_000 };
        socket.Connect(new UnixDomainSocketEndPoint(path));

        // "Who are you", as dotnet-counters begins: magic, length, command set 4, command 0, reserved.
        socket.Send([.. "DOTNET_IPC_V1\0"u8, 20, 0, 4, 0, 0, 0]);
        var answer = new byte[20];
        for (var filled = 0; filled < answer.Length;)
        {
            var read = socket.Receive(answer.AsSpan(filled));
            Assert.NotEqual(0, read);
            filled += read;
        }

        Assert.Equal((0xFF, 0x00), (answer[16], answer[17])); // The server's command set, and "OK".
    }

    /// <summary>In a container the folder of the socket is for the program's user alone, and no other container has it.</summary>
    [Fact]
    public void The_containers_have_a_folder_for_it_that_is_their_own()
    {
        var dockerfile = Read("deploy/docker/Dockerfile");
        var folder = DockerVariable().Match(dockerfile).Groups[1].Value;
        Assert.Equal("/run/tunnel2-diagnostics", folder);
        Assert.Contains($"mkdir -p {folder} && chown \"$APP_UID:$APP_UID\" {folder} && chmod 700 {folder}", dockerfile);

        // One mount in memory for server and agent, alone and in a cluster, and no volume that others could share.
        var compose = Read("docker-compose.yml");
        Assert.Equal(2, compose.Split(folder).Length);
        Assert.StartsWith($"{folder}:mode=0700,uid=1654,gid=1654,", ComposeMount().Match(compose).Groups[1].Value);
        Assert.Equal(5, compose.Split("*diagnostics]").Length);
    }

    private static Dictionary<string, string?> VariablesOf(string unit) => UnitVariables().Matches(Read(unit))
        .SelectMany(static line => line.Groups[1].Value.Split(' '))
        .Select(static pair => pair.Split('=', 2))
        .ToDictionary(static pair => pair[0], static pair => (string?)pair[1]);

    private static string Read(string path) => File.ReadAllText(Path.Combine(RepositoryFolder.Path, path));

    [GeneratedRegex("(?m)^Environment=(.*)$")]
    private static partial Regex UnitVariables();

    [GeneratedRegex(@"ENV TMPDIR=(\S+)")]
    private static partial Regex DockerVariable();

    [GeneratedRegex("tmpfs: \\[\"([^\"]+)\"\\]")]
    private static partial Regex ComposeMount();
}
