using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Streaming;

[Trait("Engine", "each")]
public sealed class BackPressureTests
{
    private const int Total = 64 * 1024 * 1024;

    /// <summary>What the kernel's buffers of the two connections may take, far below what is to be sent.</summary>
    private const int KernelBuffers = 24 * 1024 * 1024;

    [Fact]
    public async Task A_visitor_that_does_not_read_stops_the_backend_and_no_other()
    {
        var written = new AsyncCounter("bytes that the backend wrote");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    var length = head.Target == "/big" ? Total : 5;
                    await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
                    for (var position = 0; position < length;)
                    {
                        var piece = PatternBytes.Window(position, Math.Min(64 * 1024, length - position));
                        await connection.WriteAsync(piece);
                        position += piece.Length;
                        if (length == Total)
                        {
                            written.Set(position);
                        }
                    }
                }
            },
            async tunnel =>
            {
                await using var slow = await tunnel.ConnectAsync(receiveBufferSize: 16 * 1024);
                await slow.SendRequestAsync("/big", TunnelFixture.Host);
                var head = await slow.ReadHeadAsync();
                await written.WaitForAsync(ProtocolLimits.DefaultStreamWindow);
                for (var i = 0; i < 300; i++)
                {
                    var (other, body) = await tunnel.ExchangeAsync("/small");
                    Assert.Equal((200, 5), (other.StatusCode, body.Bytes.Length));
                }

                Assert.InRange(written.Value, 1, KernelBuffers);
                AssertHeldWithinWindows(Assert.Single(tunnel.Entry.Session.Tunnel.Uplinks), streams: 1);

                // Nothing is lost by waiting.
                var reader = slow.OpenBody(head);
                var buffer = new byte[256 * 1024];
                var total = 0;
                while (await reader.ReadAsync(buffer) is > 0 and var count)
                {
                    PatternBytes.Verify(buffer.AsSpan(0, count), total);
                    total += count;
                }

                Assert.Equal((Total, ConnectionEnding.Complete), (total, reader.Ending));
            });
    }

    [Fact]
    public async Task A_backend_that_does_not_read_stops_the_visitor_and_no_other()
    {
        var mayRead = new WaitSignal("the backend may read");
        var sent = new AsyncCounter("bytes that the visitor sent");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                while (true)
                {
                    var head = await connection.ReadHeadAsync();
                    long total = 0;
                    if (head.Target == "/big")
                    {
                        await mayRead.WaitAsync(TimeSpan.FromSeconds(20));
                        var body = connection.OpenBody(head);
                        var buffer = new byte[256 * 1024];
                        while (await body.ReadAsync(buffer) is > 0 and var count)
                        {
                            PatternBytes.Verify(buffer.AsSpan(0, count), total);
                            total += count;
                        }
                    }

                    await connection.WriteAsync($"HTTP/1.1 200 OK\r\nX-Total: {total}\r\nContent-Length: 0\r\n\r\n");
                }
            },
            async tunnel =>
            {
                await using var slow = await tunnel.ConnectAsync();
                await slow.WriteAsync($"POST /big HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {Total}\r\n\r\n");
                var sending = Task.Run(async () =>
                {
                    for (var position = 0; position < Total;)
                    {
                        var piece = PatternBytes.Window(position, Math.Min(64 * 1024, Total - position));
                        await slow.WriteAsync(piece);
                        position += piece.Length;
                        sent.Set(position);
                    }
                });
                await sent.WaitForAsync(ProtocolLimits.DefaultStreamWindow);
                for (var i = 0; i < 300; i++)
                {
                    var (other, _) = await tunnel.ExchangeAsync("/small");
                    Assert.Equal(200, other.StatusCode);
                }

                Assert.InRange(sent.Value, 1, KernelBuffers);
                mayRead.Set();
                await sending;
                var head = await slow.ReadHeadAsync();
                Assert.Equal($"{Total}", head["X-Total"]);
            });
    }

    [Fact]
    public Task Many_visitors_that_do_not_read_hold_a_window_each_and_give_it_back_when_they_leave() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            const int Visitors = 20;
            var slow = new List<RawHttpClient>();
            for (var i = 0; i < Visitors; i++)
            {
                var visitor = await tunnel.ConnectAsync(receiveBufferSize: 4 * 1024);
                await visitor.SendRequestAsync("/bytes/1000000000", TunnelFixture.Host);
                slow.Add(visitor);
            }

            var uplink = Assert.Single(tunnel.Entry.Session.Tunnel.Uplinks);
            await WaitSignal.UntilAsync(
                () => uplink.ReceiveCredit.Held > Visitors * ProtocolLimits.DefaultStreamWindow / 2, "the windows fill");
            AssertHeldWithinWindows(uplink, Visitors);
            var (head, body) = await tunnel.ExchangeAsync("/bytes/1000");
            Assert.Equal((200, 1000), (head.StatusCode, body.Bytes.Length));
            foreach (var visitor in slow)
            {
                visitor.Reset();
            }

            await WaitSignal.UntilAsync(() => tunnel.Entry.Session.Tunnel.OpenStreams == 0, "all streams are over");
            await WaitSignal.UntilAsync(() => uplink.ReceiveCredit.Held == 0, "all credit is back");
            await tunnel.Backend.WaitForCompletionAsync("/bytes/1000000000", Visitors);
        });

    /// <summary>What waits for visitors is within the windows that their streams began with and what these have grown by since.</summary>
    private static void AssertHeldWithinWindows(UplinkConnection uplink, int streams)
    {
        var held = uplink.ReceiveCredit.Held;
        var grown = uplink.WindowGrowth.Taken;
        Assert.InRange(held, 1, (streams * ProtocolLimits.DefaultStreamWindow) + grown);

        // A busy machine may answer PINGs slowly, which passes for a long path; even then growth has its budget.
        Assert.InRange(grown, 0, ProtocolLimits.DefaultUplinkWindow / 2);
    }
}
