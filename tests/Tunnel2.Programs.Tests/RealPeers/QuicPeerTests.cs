using System.Globalization;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.RealPeers;

/// <summary>
/// ngtcp2's client and server (HTTP/3 over QUIC) through a tunnel of UDP, which knows nothing of what its datagrams mean.
/// </summary>
public sealed class QuicPeerTests
{
    private const string Client = "/usr/bin/gtlsclient";
    private const string Server = "/usr/sbin/gtlsserver";

    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Handshakes_and_transfers_pass_through_a_port_for_datagrams(string engine)
    {
        Assert.SkipUnless(File.Exists(Client) && File.Exists(Server), "Needs QUIC (Debian packages ngtcp2-client and ngtcp2-server).");
        using var folder = new TemporaryFolder();
        using var certificate = SelfMadeCertificate.Create();
        await File.WriteAllTextAsync(folder["service.pem"], SelfMadeCertificate.ToPem(certificate));
        Directory.CreateDirectory(folder["files"]);
        await File.WriteAllTextAsync(folder["files/small"], "hello");
        await File.WriteAllBytesAsync(folder["files/large"], PatternBytes.Window(0, 2_000_000));

        // The numbers are free for TCP; whether they are free for UDP is not known, so there are some for the visitors.
        var (service, first) = (FreePort.Next(), FreePort.Next());
        await using var server = ProcessRunner.Start(
            Server,
            ["-q", "-d", folder["files"], "127.0.0.1", Text(service), folder["service.pem"], folder["service.pem"]]);
        await using var entry = await EntryProcess.StartAsync($"--Tunnel2:Engine={engine}", $"--Tunnel2:Udp:Ports={first}-{first + 7}");
        await using var agent = BuiltPrograms.StartAgent(
            ["udp", Text(service), "--name", "quic", "--server", entry.Uplink.ToString()],
            new Dictionary<string, string?> { ["TUNNEL2_ENGINE"] = engine });
        var line = await agent.WaitForLineAsync(
            static line => line.StartsWith("Forwarding udp://", StringComparison.Ordinal), Limits.Start);
        var port = Text(new Uri(line.Split(' ')[1]).Port);

        // Two files on one connection.
        await VisitAsync("small", ["https://localhost/small", "https://localhost/large"]);
        Assert.Equal("hello", await File.ReadAllTextAsync(folder["small/small"]));
        await AssertLargeAsync("small");

        // A visitor that continues from another address is another association, and the same connection for the service.
        await VisitAsync("moved", ["--change-local-addr=5ms", "https://localhost/large"]);
        await AssertLargeAsync("moved");

        // Many bytes to the service, and several visitors at once.
        await VisitAsync("up", ["-m", "POST", "-d", folder["files/large"], "https://localhost/small"]);
        await Task.WhenAll(Enumerable.Range(0, 5).Select(i => VisitAsync($"many-{i}", ["https://localhost/large"])));
        for (var i = 0; i < 5; i++)
        {
            await AssertLargeAsync($"many-{i}");
        }

        Task<ShellResult> VisitAsync(string name, string[] arguments)
        {
            Directory.CreateDirectory(folder[name]);
            string[] flags = [.. arguments.Where(static one => !one.StartsWith("https:", StringComparison.Ordinal))];
            return FinishAsync(
                ProcessRunner.Start(
                    Client,
                    [
                        "-q", "--exit-on-all-streams-close", "--timeout=30s", $"--download={folder[name]}", .. flags, "127.0.0.1", port,
                        .. arguments.Except(flags),
                    ]));
        }

        async Task AssertLargeAsync(string name) => PatternBytes.Verify(await File.ReadAllBytesAsync(folder[$"{name}/large"]), 0);
    }

    private static async Task<ShellResult> FinishAsync(ProcessRunner client)
    {
        await using (client)
        {
            return (await Shell.FinishAsync(client)).EnsureSuccess();
        }
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
