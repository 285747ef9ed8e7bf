using System.Net;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Tcp;
using Tunnel2.Multiplexing.Session;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Requests;

/// <summary>One tunnel's visitors are in all places, for as long as they like, and another tunnel's visitor comes.</summary>
public sealed class CrowdedPlacesTests
{
    private const int Places = 16;

    private static readonly string[] _few = [$"Limits:Connections={Places}", $"Limits:ConnectionsPerAddress={Places}"];

    [Theory]
    [InlineData("1.1")]
    [InlineData("2.0")]
    public Task Slow_downloads_of_one_tunnel_keep_out_no_visitor_of_another(string version) => TunnelFixture.RunAsync(async tunnel =>
    {
        var session = tunnel.Entry.Session.Tunnel;
        await using var other = await StartOtherAsync(tunnel);
        var answers = new List<HttpResponseMessage>();
        for (var i = 0; i < Places; i++)
        {
            if (version == "1.1")
            {
                var visitor = await tunnel.ConnectAsync(receiveBufferSize: 4 * 1024);
                await visitor.SendRequestAsync("/bytes/1000000000", TunnelFixture.Host);
            }
            else
            {
                var client = tunnel.CreateClient();
                (client.DefaultRequestVersion, client.DefaultVersionPolicy) =
                    (HttpVersion.Version20, HttpVersionPolicy.RequestVersionExact);
                answers.Add(await client.GetAsync("/bytes/1000000000", HttpCompletionOption.ResponseHeadersRead));
            }
        }

        await WaitSignal.UntilAsync(() => OpenStreams(session) == Places, "all places are busy");
        await OthersAreServedAsync(tunnel);
        Assert.InRange(OpenStreams(session), 1, Places - 1);
        await tunnel.Entry.Log.WaitForAsync(2214);
        answers.ForEach(static answer => answer.Dispose());
    }, Setup());

    [Fact]
    public async Task Visitors_who_ask_again_at_once_keep_out_no_visitor_of_another_tunnel()
    {
        await using var silent = RawTcpServer.Start(static async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.ReadToEndAsync();
        });
        await TunnelFixture.RunAsync(async tunnel =>
        {
            await using var agent = await AgentFixture.StartReadyAsync(
                AgentFixture.Options(tunnel.Entry.Uplink.Port, silent.Port, "silent"));
            var visitors = new List<RawHttpClient>();
            for (var i = 0; i < Places; i++)
            {
                visitors.Add(await tunnel.ConnectAsync());
            }

            var asking = visitors.Select(AskAgainAsync).ToList();
            await WaitSignal.UntilAsync(
                () => tunnel.Entry.Directory.Snapshot().Sum(static session => OpenStreams(session.Tunnel)) == Places,
                "all places are busy");
            await OthersAreServedAsync(tunnel, TunnelFixture.Host);
            foreach (var visitor in visitors)
            {
                await visitor.DisposeAsync();
            }

            await Task.WhenAll(asking);
        }, Setup());
    }

    [Fact]
    public Task Silent_connections_of_tcp_keep_out_no_visitor_of_another_tunnel()
    {
        var setup = TcpTunnel.Setup(_few);
        return TunnelFixture.RunAsync(async tunnel =>
        {
            await using var other = await StartOtherAsync(tunnel);
            var visitors = new List<RawHttpClient>();
            for (var i = 0; i < Places; i++)
            {
                visitors.Add(await TcpTunnel.VisitAsync(tunnel));
            }

            // The sockets of its port have some of the places: the last visitors wait.
            await tunnel.Entry.Log.WaitForAsync(2212);
            await OthersAreServedAsync(tunnel);
            foreach (var visitor in visitors)
            {
                await visitor.DisposeAsync();
            }
        }, setup);
    }

    [Fact]
    public Task Requests_that_wait_for_an_agent_keep_out_no_visitor_of_another_tunnel() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var other = await StartOtherAsync(tunnel);
        await using (var gone = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(tunnel.Entry.Uplink.Port, tunnel.Backend.Port, "gone")))
        {
            await gone.StopAsync();
        }

        for (var i = 0; i < Places; i++)
        {
            var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/bytes/5", "gone.localhost");
        }

        await OthersAreServedAsync(tunnel);
    }, Setup());

    private static TunnelSetup Setup() => new() { Settings = _few };

    private static int OpenStreams(TunnelSession session) => session.Uplinks.Sum(static uplink => uplink.OpenStreams);

    private static Task<AgentFixture> StartOtherAsync(TunnelFixture tunnel) =>
        AgentFixture.StartReadyAsync(AgentFixture.Options(tunnel.Entry.Uplink.Port, tunnel.Backend.Port, "other"));

    /// <summary>Asks for what never comes, and again after each answer, until the connection ends.</summary>
    private static async Task AskAgainAsync(RawHttpClient visitor)
    {
        try
        {
            while (true)
            {
                await visitor.ExchangeAsync("/held", "silent.localhost");
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException or SocketException)
        {
            // It has lost its place.
        }
    }

    private static async Task OthersAreServedAsync(TunnelFixture tunnel, string host = "other.localhost")
    {
        for (var i = 0; i < 5; i++)
        {
            var (head, _) = await tunnel.ExchangeAsync("/bytes/5", host: host);
            Assert.Equal(200, head.StatusCode);
        }
    }
}
