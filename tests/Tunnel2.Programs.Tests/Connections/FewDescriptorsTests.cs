using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Programs.Tests.Processes;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.Connections;

/// <summary>
/// The built ProxyEntry with hardly more descriptors than it needs to start, under floods of connections that send nothing or half of
/// something.
/// </summary>
public sealed class FewDescriptorsTests
{
    private const int Files = 256;
    private const string HalfHead = "GET / HTTP/1.1\r\nHost: web.loc";
    private const string OneAddress = "127.0.0.1";
    private static readonly string[] _fourAddresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"];

    [Theory]
    [MemberData(nameof(SharedTunnels.Engines), MemberType = typeof(SharedTunnels))]
    public Task Half_heads_of_one_address_hold_up_no_other(string engine) => RunAsync(engine, async (entry, agent) =>
    {
        using (await Flood.StartAsync(entry.Public, 300, HalfHead, OneAddress))
        {
            Assert.Contains("200 OK", await AskAsync(entry.Admin, OneAddress, "/health/live"), StringComparison.Ordinal);
            Assert.Contains("200 OK", await AskAsync(entry.Public, "127.0.0.9", "/bytes/5"), StringComparison.Ordinal);
        }

        // The kernel reports each end by itself: a moment later the address has its places again.
        using var limit = new CancellationTokenSource(Limits.Work);
        while (!await IsServedAsync(entry, OneAddress))
        {
            limit.Token.ThrowIfCancellationRequested();
        }

        Assert.DoesNotContain(agent.Lines, static line => line.StartsWith("Disconnected", StringComparison.Ordinal));
    });

    [Theory]
    [MemberData(nameof(SharedTunnels.Engines), MemberType = typeof(SharedTunnels))]
    public Task Half_heads_of_many_addresses_give_their_places_to_who_comes(string engine) => RunAsync(engine, async (entry, agent) =>
    {
        using (await Flood.StartAsync(entry.Public, 100, HalfHead, _fourAddresses))
        {
            Assert.Contains("200 OK", await AskAsync(entry.Admin, OneAddress, "/health/live"), StringComparison.Ordinal);
            Assert.Contains("200 OK", await AskAsync(entry.Public, "127.0.0.9", "/bytes/5"), StringComparison.Ordinal);
            Assert.Contains(
                "tunnel2_entry_connections_ended_total{kind=\"visitors\"}",
                await AskAsync(entry.Admin, OneAddress, "/metrics", "localhost"),
                StringComparison.Ordinal);
        }

        Assert.DoesNotContain(agent.Lines, static line => line.StartsWith("Disconnected", StringComparison.Ordinal));
    });

    [Theory]
    [MemberData(nameof(SharedTunnels.Engines), MemberType = typeof(SharedTunnels))]
    public Task Silent_connections_for_administration_give_way(string engine) => RunAsync(engine, async (entry, _) =>
    {
        using (await Flood.StartAsync(entry.Admin, 100, "", OneAddress))
        {
            Assert.Contains("200 OK", await AskAsync(entry.Admin, OneAddress, "/health/live"), StringComparison.Ordinal);
            Assert.Contains("200 OK", await AskAsync(entry.Public, OneAddress, "/bytes/5"), StringComparison.Ordinal);
        }
    });

    [Theory]
    [MemberData(nameof(SharedTunnels.Engines), MemberType = typeof(SharedTunnels))]
    public Task Silent_connections_of_agents_leave_room_for_one_that_speaks(string engine) => RunAsync(engine, async (entry, agent) =>
    {
        using (await Flood.StartAsync(entry.Uplink, 40, "", _fourAddresses))
        {
            Assert.Contains("200 OK", await AskAsync(entry.Public, OneAddress, "/bytes/5"), StringComparison.Ordinal);
            await using var other = new RawUplink(new RawConnection(await ConnectAsync(entry.Uplink, OneAddress)));
            await other.SendAsync(RawUplink.Hello("other").ToFrame());
            Assert.Equal(FrameType.Welcome, (await other.ReadAsync())?.Type);
        }

        Assert.DoesNotContain(agent.Lines, static line => line.StartsWith("Disconnected", StringComparison.Ordinal));
    });

    [Fact]
    public async Task Too_few_files_are_said_and_nothing_starts()
    {
        await using var entry = BuiltPrograms.StartEntry(
            ["--Tunnel2:Public:HttpListen=127.0.0.1:0", "--Tunnel2:Uplink:Listen=127.0.0.1:0", "--Tunnel2:Admin:Listen=127.0.0.1:0"], 150);
        Assert.Equal(1, await entry.WaitForExitAsync(Limits.Start));
        Assert.Contains("may have only 150 files open", string.Join('\n', entry.Lines), StringComparison.Ordinal);
        await using var agent = BuiltPrograms.StartAgent(["http", "1", "--name", "web", "--server", "127.0.0.1:1"], files: 100);
        Assert.Equal(1, await agent.WaitForExitAsync(Limits.Start));
        Assert.Contains("may have only 100 files open", string.Join('\n', agent.Lines), StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_agent_says_that_its_limit_is_low()
    {
        await using var agent = BuiltPrograms.StartAgent(["http", "1", "--name", "web", "--server", "127.0.0.1:1", "--json"], files: 1024);
        var line = await agent.WaitForLineAsync(static line => line.Contains("few_files", StringComparison.Ordinal), Limits.Start);
        Assert.Contains("\"count\":1024", line, StringComparison.Ordinal);
    }

    private static async Task RunAsync(string engine, Func<EntryProcess, ProcessRunner, Task> test)
    {
        using var folder = new TemporaryFolder();
        var backend = await SharedBackend.GetAddressAsync();
        await using var entry = await EntryProcess.StartWithFilesAsync(
            Files, $"--Tunnel2:Engine={engine}", $"--Tunnel2:Ring:File={folder["ring"]}");
        Assert.Contains(entry.Runner.Lines, static line => line.Contains($"may have only {Files} files open", StringComparison.Ordinal));
        await using var agent = await RealTunnel.StartAgentAsync(entry, backend.Port, engine);
        await test(entry, agent);
        Assert.False(entry.Runner.HasExited, string.Join('\n', entry.Runner.Lines));
        Assert.Contains("200 OK", await AskAsync(entry.Admin, OneAddress, "/health/live"), StringComparison.Ordinal);
        Assert.DoesNotContain(
            entry.Runner.Lines,
            static line =>
                line.Contains(" fail: ", StringComparison.Ordinal) || line.Contains("TooManyOpenSockets", StringComparison.Ordinal));
    }

    private static async Task<bool> IsServedAsync(EntryProcess entry, string from)
    {
        try
        {
            return (await AskAsync(entry.Public, from, "/bytes/5")).Contains("200 OK", StringComparison.Ordinal);
        }
        catch (Exception exception) when (exception is SocketException or IOException)
        {
            return false;
        }
    }

    private static async Task<string> AskAsync(IPEndPoint server, string from, string target, string host = "web.localhost")
    {
        await using var visitor = new RawConnection(await ConnectAsync(server, from));
        await visitor.WriteAsync($"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        return Encoding.Latin1.GetString(await visitor.ReadToEndAsync());
    }

    private static async Task<Socket> ConnectAsync(IPEndPoint server, string from)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Bind(new IPEndPoint(IPAddress.Parse(from), 0));
        await socket.ConnectAsync(server);
        return socket;
    }

    /// <summary>Connections that do no more than to begin.</summary>
    private sealed class Flood : IDisposable
    {
        private readonly List<Socket> _sockets = [];

        public static async Task<Flood> StartAsync(IPEndPoint server, int count, string said, params string[] addresses)
        {
            var flood = new Flood();
            for (var i = 0; i < count; i++)
            {
                try
                {
                    var socket = await ConnectAsync(server, addresses[i % addresses.Length]);
                    flood._sockets.Add(socket);
                    await socket.SendAsync(Encoding.ASCII.GetBytes(said));
                }
                catch (SocketException)
                {
                    // Closed at once: its address has as many as it may.
                }
            }

            return flood;
        }

        public void Dispose() => _sockets.ForEach(static socket => socket.Dispose());
    }
}
