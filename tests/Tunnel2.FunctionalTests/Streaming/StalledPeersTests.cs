using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Streaming;

/// <summary>
/// Visitors that take nothing, and services that take nothing: many at once, which together would hold an uplink's whole window.
/// </summary>
public sealed class StalledPeersTests
{
    /// <summary>
    /// Enough to hold the window of the only uplink: each holds its own, except for a quarter that may have been taken and not returned
    /// yet.
    /// </summary>
    private const int Stalled = ProtocolLimits.DefaultUplinkWindow / (ProtocolLimits.DefaultStreamWindow / 4 * 3) * 6 / 5;

    private static TunnelSetup OneUplink(params string[] settings) => new()
    {
        Settings = settings,
        Agent = static options => options with { Uplinks = UplinkPolicy.Fixed(1) },
        Patience = TimeSpan.FromSeconds(60),
    };

    [Fact]
    public Task Visitors_who_take_nothing_hold_no_others_up() => TunnelFixture.RunAsync(async tunnel =>
    {
        for (var i = 0; i < Stalled; i++)
        {
            var visitor = await tunnel.ConnectAsync(receiveBufferSize: 4 * 1024);
            await visitor.SendRequestAsync("/bytes/1000000000", TunnelFixture.Host);
        }

        var uplink = Assert.Single(tunnel.Entry.Session.Tunnel.Uplinks);
        await WaitSignal.UntilAsync(
            () => uplink.ReceiveCredit.Held > ProtocolLimits.DefaultUplinkWindow, "they hold more than the uplink's window");
        await OthersGoOnAsync(tunnel);

        // The last of the others has its answer a moment before its stream is released.
        await WaitSignal.UntilAsync(() => uplink.OpenStreams == Stalled, "the stalled ones are open, and no other");
    }, OneUplink());

    [Fact]
    public Task Visitors_over_http2_who_take_nothing_hold_no_others_up() => TunnelFixture.RunAsync(async tunnel =>
    {
        using var client = CreateHttp2Client(tunnel);
        var responses = new List<HttpResponseMessage>();
        for (var i = 0; i < Stalled; i++)
        {
            // The head is read, and a little of the body by the client itself; then its window is full.
            responses.Add(await client.GetAsync("/bytes/1000000000", HttpCompletionOption.ResponseHeadersRead));
        }

        var uplink = Assert.Single(tunnel.Entry.Session.Tunnel.Uplinks);
        await WaitSignal.UntilAsync(
            () => uplink.ReceiveCredit.Held > ProtocolLimits.DefaultUplinkWindow, "they hold more than the uplink's window");
        await OthersGoOnAsync(tunnel);
        responses.ForEach(static response => response.Dispose());
    }, OneUplink());

    [Fact]
    public async Task Services_that_take_nothing_hold_no_others_up()
    {
        var over = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await TunnelFixture.RunAsync(
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    if (head.Target == "/stalled")
                    {
                        await over.Task;
                        return;
                    }

                    var body = connection.OpenBody(head);
                    var buffer = new byte[100];
                    while (await body.ReadAsync(buffer) > 0)
                    {
                    }

                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            },
            async tunnel =>
            {
                var sending = new List<Task>();
                for (var i = 0; i < Stalled; i++)
                {
                    var visitor = await tunnel.ConnectAsync();
                    await visitor.WriteAsync($"POST /stalled HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 1000000000\r\n\r\n");
                    sending.Add(SendUntilCutAsync(visitor));
                }

                var uplink = Assert.Single(tunnel.Entry.Session.Tunnel.Uplinks);

                // Outstanding is what the agent has not given back of the window that it began with: below half of it, it grants more.
                await WaitSignal.UntilAsync(
                    () => uplink.OpenStreams == Stalled && uplink.Statistics.BytesSent > ProtocolLimits.DefaultUplinkWindow,
                    "they have sent more than the window");
                for (var i = 0; i < 50; i++)
                {
                    await using var visitor = await tunnel.ConnectAsync();
                    await visitor.WriteAsync($"POST /quick HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 5\r\n\r\n12345");
                    Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
                }

                over.SetResult();
            },
            OneUplink());
    }

    [Fact]
    public Task When_memory_is_short_those_who_stall_are_cut_and_their_bytes_are_back_at_once() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            for (var i = 0; i < Stalled; i++)
            {
                // Half of the answers fit into a window: such a stream is over on the uplink, and its bytes are held all the same.
                var visitor = await tunnel.ConnectAsync(receiveBufferSize: 4 * 1024);
                await visitor.SendRequestAsync(i % 2 == 0 ? "/bytes/1000000000" : "/bytes/16000000", TunnelFixture.Host);
            }

            var uplink = Assert.Single(tunnel.Entry.Session.Tunnel.Uplinks);
            var budget = uplink.Settings.ReceiveBudget;
            await WaitSignal.UntilAsync(() => budget.CutStreams > 0 && budget.Held <= budget.Limit, "enough were cut");
            await OthersGoOnAsync(tunnel);
            await WaitSignal.UntilAsync(
                () => budget.Held <= budget.Limit && uplink.ReceiveCredit.Granted >= ProtocolLimits.DefaultUplinkWindow / 4,
                "there is room again");
        }, OneUplink("Limits:BufferMegabytes=16"));

    [Theory]
    [InlineData("1.1")]
    [InlineData("2.0")]
    public Task A_wait_for_a_visitor_ends_with_the_limit_for_bodies(string version) => TunnelFixture.RunAsync(async tunnel =>
    {
        using var client = CreateHttp2Client(tunnel);
        if (version == "2.0")
        {
            using var response = await client.GetAsync("/bytes/1000000000", HttpCompletionOption.ResponseHeadersRead);
            await UntilAllIsBackAsync(tunnel);
        }
        else
        {
            await using var visitor = await tunnel.ConnectAsync(receiveBufferSize: 4 * 1024);
            await visitor.SendRequestAsync("/bytes/1000000000", TunnelFixture.Host);
            await UntilAllIsBackAsync(tunnel);
        }
    }, OneUplink("Timeouts:BodyIdle=2s"));

    private static async Task UntilAllIsBackAsync(TunnelFixture tunnel)
    {
        var uplink = Assert.Single(tunnel.Entry.Session.Tunnel.Uplinks);
        await WaitSignal.UntilAsync(() => uplink.ReceiveCredit.Held >= ProtocolLimits.DefaultStreamWindow / 2, "the window is held");
        await WaitSignal.UntilAsync(
            () => uplink.ReceiveCredit.Held == 0 && uplink.OpenStreams == 0, "the stream is over and its bytes are back");
    }

    private static async Task OthersGoOnAsync(TunnelFixture tunnel)
    {
        for (var i = 0; i < 50; i++)
        {
            var (head, body) = await tunnel.ExchangeAsync("/bytes/1000");
            Assert.Equal((200, 1000), (head.StatusCode, body.Bytes.Length));
        }
    }

    private static async Task SendUntilCutAsync(RawHttpClient visitor)
    {
        var piece = new byte[64 * 1024];
        try
        {
            while (true)
            {
                await visitor.WriteAsync(piece);
            }
        }
        catch (Exception)
        {
            // The test is over.
        }
    }

    private static HttpClient CreateHttp2Client(TunnelFixture tunnel) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        EnableMultipleHttp2Connections = true,
        InitialHttp2StreamWindowSize = 65_535,
    })
    {
        BaseAddress = new Uri($"http://127.0.0.1:{tunnel.Entry.Http.Port}/"),
        DefaultRequestVersion = HttpVersion.Version20,
        DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        DefaultRequestHeaders = { Host = TunnelFixture.Host },
    };
}
