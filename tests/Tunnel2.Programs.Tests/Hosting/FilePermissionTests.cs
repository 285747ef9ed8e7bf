using System.Runtime.Versioning;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Hosting;

/// <summary>Every file that the programs write, under the most open umask.</summary>
[UnsupportedOSPlatform("windows")]
public sealed class FilePermissionTests
{
    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    [Fact]
    public async Task Only_their_owner_may_read_them()
    {
        using var folder = new TemporaryFolder();
        await using var entry = Start(
            BuiltPrograms.EntryPath,
            folder,
            "--Tunnel2:Public:HttpListen=127.0.0.1:0", "--Tunnel2:Uplink:Listen=127.0.0.1:0", "--Tunnel2:Admin:Listen=127.0.0.1:0",
            "--Tunnel2:Public:HttpsListen=127.0.0.1:0", "--Tunnel2:Uplink:Certificate=self-made",
            "--Tunnel2:Ring:File=" + folder["live.ring"],
            "--Tunnel2:AccessLog:Mode=full", "--Tunnel2:AccessLog:MaxFileBytes=4096", "--Tunnel2:AccessLog:Path=" + folder["access.log"]);
        var line = await entry.WaitForLineAsync(
            static line => line.Contains("Listening for visitors on http://", StringComparison.Ordinal), Limits.Start);
        await entry.WaitForLineAsync(static line => line.Contains("Ready: ", StringComparison.Ordinal), Limits.Start);
        var address = line[line.IndexOf("http://", StringComparison.Ordinal)..].Trim();
        await using var tap = Start(
            BuiltPrograms.AgentPath, folder, "tap", "--ring", folder["live.ring"], "--record", folder["tap.rec"], "--from-oldest");

        // An agent's own file, made before it finds no server to talk to.
        using var port = new RefusedPort();
        await using var agent = Start(
            BuiltPrograms.AgentPath, folder, "http", "9", "--server", $"127.0.0.1:{port.Port}", "--exit-on-failure");
        Assert.Equal(4, await agent.WaitForExitAsync());
        await using var certificate = Start(
            BuiltPrograms.EntryPath, folder, "certificate", "create", "--host", "a.example", "--out", folder["own.pem"]);
        Assert.Equal(0, await certificate.WaitForExitAsync());

        using var client = new HttpClient { BaseAddress = new Uri(address) };
        for (var i = 0; i < 100; i++)
        {
            using var answer = await client.GetAsync($"/{new string('x', 200)}");
        }

        string[] expected =
        [
            "access.log", "access.log.1", "agent.key", "authority-localhost.crt", "authority-localhost.pem", "live.ring", "live.ring.lock",
            "own.pem", "tap.rec", "uplink.pem",
        ];
        await WaitSignal.UntilAsync(() => expected.All(Files(folder).Select(Path.GetFileName).Contains), "all files are there");
        foreach (var path in Files(folder))
        {
            Assert.True(ModeOf(path) == OwnerOnly, $"{path} {ModeOf(path)}");
        }

        Assert.Equal(OwnerOnly | UnixFileMode.UserExecute, File.GetUnixFileMode(folder["state"]));
        Assert.Equal(OwnerOnly | UnixFileMode.UserExecute, File.GetUnixFileMode(Path.Combine(folder["home"], "tunnel2")));
    }

    /// <summary>A log that is being rotated is away for a moment; its other name is in the list as well.</summary>
    private static UnixFileMode ModeOf(string path)
    {
        try
        {
            return File.GetUnixFileMode(path);
        }
        catch (FileNotFoundException)
        {
            return OwnerOnly;
        }
    }

    private static string[] Files(TemporaryFolder folder) => Directory.GetFiles(folder[""], "*", SearchOption.AllDirectories);

    private static ProcessRunner Start(string program, TemporaryFolder folder, params string[] arguments) => ProcessRunner.Start(
        "bash",
        ["-c", "umask 0; exec dotnet \"$0\" \"$@\"", program, .. arguments],
        new Dictionary<string, string?> { ["STATE_DIRECTORY"] = folder["state"], ["XDG_STATE_HOME"] = folder["home"] });
}
