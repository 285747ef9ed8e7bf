using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Live;

/// <summary>For any bad input to the live plane, requests are forwarded, and each is one record.</summary>
public sealed class BadInputTests
{
    private const int Requests = 200;

    private static readonly TunnelSetup _withRelay = new() { Settings = ["Relay:Listen=127.0.0.1:0"] };

    /// <summary>Requests go through, and the ring has every one of them.</summary>
    private static async Task AssertUndisturbedAsync(TunnelFixture tunnel)
    {
        var ring = tunnel.Entry.Live.Ring!;
        var before = ring.Head;
        await using var visitor = await tunnel.ConnectAsync();
        for (var i = 0; i < Requests; i++)
        {
            var (head, _) = await visitor.ExchangeAsync("/status/200", TunnelFixture.Host, "GET", "");
            Assert.Equal(200, head.StatusCode);
        }

        await WaitSignal.UntilAsync(() => ring.Head == before + Requests, "every request is a record");
        Assert.Equal(0, tunnel.Entry.Live.Publisher.Dropped);
    }

    private static Socket ConnectTo(System.Net.IPEndPoint endPoint)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { ReceiveBufferSize = 4096 };
        socket.Connect(endPoint);
        return socket;
    }

    [Fact]
    public Task A_relay_peer_that_sends_garbage_is_refused_and_one_that_never_reads_costs_only_itself() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            var relay = tunnel.Entry.Live.RelayEndPoint!;
            using var garbage = ConnectTo(relay);
            garbage.Send(Encoding.ASCII.GetBytes(new string('x', 100_000)));
            using var silent = ConnectTo(relay);
            using var deaf = ConnectTo(relay);
            var hello = new byte[64];
            deaf.Send(hello.AsSpan(0, RelayFrame.WriteHello(hello, 0, EventRingReaderOptions.FromOldest)));
            await AssertUndisturbedAsync(tunnel);
            garbage.ReceiveTimeout = 20_000;
            var answer = new byte[256];
            var answered = 0;
            try
            {
                while (garbage.Receive(answer.AsSpan(answered)) is > 0 and var count)
                {
                    answered += count;
                }
            }
            catch (SocketException)
            {
                // Cut off with bytes of ours unread: what it said may be lost with them.
            }

            Assert.True(
                answered == 0 || RelayFrame.TryRead(answer.AsSpan(0, answered), out var kind, out _) > 0 && kind == RelayFrameKind.Welcome);
            await AssertUndisturbedAsync(tunnel);
        },
        _withRelay);

    [Fact]
    public Task Subscribers_that_send_a_megabyte_nonsense_ten_thousand_subscriptions_or_nothing_harm_no_other() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            using var large = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            using var nonsense = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            using var flood = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            using var nothing = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            using var good = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            await good.SubscribeAsync("session.web.stats");
            await good.ReceiveUntilAsync(static m => m.GetProperty("type").GetString() == "subscribed");
            var bad = Task.WhenAll(
                SendAsync(large, static s => s.SendAsync(new string('x', 1 << 20)), 1),
                SendAsync(nonsense, static s => s.SendAsync("{not json"), 50),
                SendAsync(flood, static s => s.SubscribeAsync("session.web.status"), 10_000));
            await AssertUndisturbedAsync(tunnel);
            await bad;
            Assert.Equal(WebSocketCloseStatus.MessageTooBig, await CloseOf(large));
            Assert.Equal(WebSocketCloseStatus.PolicyViolation, await CloseOf(flood));
            Assert.Equal(WebSocketState.Open, nothing.Socket.State);

            // The well-behaved one missed nothing.
            var seen = 0L;
            while (seen < Requests)
            {
                var window = await good.ReceiveUntilAsync(
                    static m => m.GetProperty("type").GetString() == "message" && m.GetProperty("key").GetString() == "1s");
                seen += window.GetProperty("data").GetProperty("requests").GetInt64();
            }

            Assert.Equal(Requests, seen);
        });

    [Fact]
    public Task A_subscriber_that_reads_nothing_of_everything_there_is_disturbs_no_other() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            using var deaf = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            await deaf.SubscribeAsync(">");
            await AssertUndisturbedAsync(tunnel);
            await AssertUndisturbedAsync(tunnel);
        });

    [Fact]
    public Task A_ring_whose_file_is_overwritten_while_it_runs_costs_records_and_no_request() => TunnelFixture.RunAsync(
        async (TunnelFixture tunnel) =>
        {
            var ring = tunnel.Entry.Live.Ring!;
            using var subscriber = await Subscriber.ConnectAsync(tunnel.Entry.Admin);
            await subscriber.SubscribeAsync("node.stats");
            await AssertUndisturbedAsync(tunnel);

            // All slots and the table of consumers become noise; the header page stays what readers and producers count by.
            await using (var file = new FileStream(ring.Path, FileMode.Open, FileAccess.Write, FileShare.ReadWrite))
            {
                var noise = new byte[1 << 20];
                new Random(1).NextBytes(noise);
                for (file.Position = 4096; file.Position < file.Length;)
                {
                    file.Write(noise.AsSpan(0, (int)Math.Min(noise.Length, file.Length - file.Position)));
                }
            }

            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < Requests; i++)
            {
                var (head, _) = await visitor.ExchangeAsync("/status/200", TunnelFixture.Host, "GET", "");
                Assert.Equal(200, head.StatusCode);
            }

            // The statistics continue, too.
            await subscriber.ReceiveUntilAsync(
                static m => m.GetProperty("type").GetString() == "message" && m.GetProperty("data").GetProperty("requests").GetInt64() > 0);
        });

    private static async Task SendAsync(Subscriber subscriber, Func<Subscriber, Task> send, int times)
    {
        try
        {
            for (var i = 0; i < times; i++)
            {
                await send(subscriber);
            }
        }
        catch (Exception exception) when (exception is WebSocketException or IOException or InvalidOperationException)
        {
            // Cut off, as it should be.
        }
    }

    private static async Task<WebSocketCloseStatus?> CloseOf(Subscriber subscriber)
    {
        try
        {
            return await subscriber.ReceiveCloseAsync();
        }
        catch (WebSocketException)
        {
            return subscriber.Socket.CloseStatus;
        }
    }
}
