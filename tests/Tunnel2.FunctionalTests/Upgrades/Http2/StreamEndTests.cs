using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades.Http2;

/// <summary>END_STREAM is the end of one direction, RST_STREAM that of both (RFC 8441 section 5), from either side.</summary>
public sealed class StreamEndTests
{
    private const uint Cancel = 8;

    public static TheoryData<string> Kinds => Http2Tunnel.Kinds;

    [Theory]
    [MemberData(nameof(Kinds))]
    public Task A_visitor_that_has_said_all_still_hears_the_backend(string kind) => Http2Tunnel.RunAsync(
        kind,
        async connection =>
        {
            await Http2Tunnel.SwitchAsync(connection);
            Assert.Equal("question"u8.ToArray(), await connection.ReadToEndAsync());
            Assert.Equal(ConnectionEnding.Fin, connection.Ending);
            for (var i = 0; i < 20; i++)
            {
                await connection.WriteAsync(PatternBytes.Window(i * 10_000, 10_000));
            }

            await connection.CloseAsync();
        },
        async (visitor, _) =>
        {
            var stream = await visitor.ConnectAsync("/", Http2Tunnel.Scheme(kind));
            await stream.ReadHeadAsync();
            await stream.WriteAsync("question"u8.ToArray(), end: true);
            var answer = await stream.ReadToEndAsync();
            Assert.Equal(200_000, answer.Length);
            PatternBytes.Verify(answer, 0);
        });

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_backend_that_has_said_all_still_hears_the_visitor(string kind)
    {
        var heard = new WaitSignal("the backend heard all");
        await Http2Tunnel.RunAsync(
            kind,
            async connection =>
            {
                await Http2Tunnel.SwitchAsync(connection);
                await connection.WriteAsync("last words");
                await connection.ShutdownSendAsync();
                var bytes = await connection.ReadToEndAsync();
                PatternBytes.Verify(bytes, 0);
                Assert.Equal((2_000_000, ConnectionEnding.Fin), (bytes.Length, connection.Ending));
                heard.Set();
            },
            async (visitor, _) =>
            {
                var stream = await visitor.ConnectAsync("/", Http2Tunnel.Scheme(kind));
                Assert.Equal("last words"u8.ToArray(), await stream.ReadToEndAsync());
                for (var i = 0; i < 200; i++)
                {
                    await stream.WriteAsync(PatternBytes.Window(i * 10_000, 10_000));
                }

                Assert.False(heard.IsSet);
                await stream.WriteAsync(default, end: true);
                await heard.WaitAsync();
            });
    }

    [Fact]
    public async Task A_request_that_ends_with_its_head_is_an_upgrade_whose_visitor_has_said_all()
    {
        await Http2Tunnel.RunAsync(
            "HTTP/2 by preface",
            async connection =>
            {
                await Http2Tunnel.SwitchAsync(connection);
                Assert.Empty(await connection.ReadToEndAsync());
                await connection.WriteAsync("all the same");
                await connection.CloseAsync();
            },
            async (visitor, _) =>
            {
                var stream = await visitor.OpenAsync(
                    [
                        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":authority", TunnelFixture.Host),
                        (":path", "/"),
                    ],
                    end: true);
                Assert.Equal(200, (await stream.ReadAnswerAsync()).Status);
                Assert.Equal("all the same"u8.ToArray(), await stream.ReadToEndAsync());
            });
    }

    [Theory]
    [MemberData(nameof(Kinds))]
    public async Task A_stream_that_the_visitor_resets_is_cut_at_the_backend_and_no_other(string kind)
    {
        var cut = new WaitSignal("the backend's connection was cut");
        await Http2Tunnel.RunAsync(
            kind,
            async connection =>
            {
                var head = await Http2Tunnel.SwitchAsync(connection);
                if (head.Target == "/cut")
                {
                    Assert.Equal("a"u8.ToArray(), await connection.ReadExactlyAsync(1));
                    await connection.WriteAsync("b");
                    await AssertCutAsync(connection);
                    cut.Set();
                    return;
                }

                await connection.WriteAsync(await connection.ReadExactlyAsync(4));
                await connection.CloseAsync();
            },
            async (visitor, _) =>
            {
                var stream = await visitor.ConnectAsync("/cut", Http2Tunnel.Scheme(kind));
                await stream.ReadHeadAsync();
                var other = await visitor.ConnectAsync("/", Http2Tunnel.Scheme(kind));
                await other.ReadHeadAsync();
                await stream.WriteAsync("a"u8.ToArray());
                Assert.Equal("b"u8.ToArray(), await stream.ReadAsync(1));
                await stream.ResetAsync(Cancel);
                await cut.WaitAsync();
                await other.WriteAsync("echo"u8.ToArray(), end: true);
                Assert.Equal("echo"u8.ToArray(), await other.ReadToEndAsync());
            });
    }

    [Fact]
    public async Task A_visitor_that_resets_behind_the_end_of_the_backend_is_a_cut_too()
    {
        var cut = new WaitSignal("the backend's connection was cut");
        await Http2Tunnel.RunAsync(
            "HTTP/2 by preface",
            async connection =>
            {
                await Http2Tunnel.SwitchAsync(connection);
                await connection.ShutdownSendAsync();
                await connection.WaitForEndAsync();
                cut.Set();
            },
            async (visitor, _) =>
            {
                var stream = await visitor.ConnectAsync("/", "http");
                Assert.Empty(await stream.ReadToEndAsync());
                await stream.ResetAsync(Cancel);
                await cut.WaitAsync();
            });
    }

    [Fact]
    public async Task A_visitor_that_neither_ends_nor_goes_behind_the_end_of_the_backend_is_held_to_the_limit_of_bodies()
    {
        var ended = new WaitSignal("the backend's connection ended");
        await Http2Tunnel.RunAsync(
            "HTTP/2 by preface",
            async connection =>
            {
                await Http2Tunnel.SwitchAsync(connection);
                await connection.ShutdownSendAsync();
                await connection.WaitForEndAsync();
                ended.Set();
            },
            async (visitor, _) =>
            {
                var stream = await visitor.ConnectAsync("/", "http");
                Assert.Empty(await stream.ReadToEndAsync());
                await ended.WaitAsync();
                Assert.Equal(Cancel, await stream.WaitForResetAsync());
            },
            "Timeouts:BodyIdle=100ms");
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task A_connection_that_the_backend_resets_is_a_stream_reset_with_CANCEL(bool visitorHasEnded) => Http2Tunnel.RunAsync(
        "HTTP/2 over TLS",
        async connection =>
        {
            await Http2Tunnel.SwitchAsync(connection);
            Assert.Equal("now"u8.ToArray(), await connection.ReadExactlyAsync(3));
            if (visitorHasEnded)
            {
                Assert.Empty(await connection.ReadToEndAsync());
            }

            connection.Reset();
        },
        async (visitor, _) =>
        {
            var stream = await visitor.ConnectAsync("/", "https");
            await stream.ReadHeadAsync();
            await stream.WriteAsync("now"u8.ToArray(), end: visitorHasEnded);
            Assert.Equal(Cancel, await stream.WaitForResetAsync());
        });

    [Fact]
    public Task What_the_backend_says_before_it_resets_arrives_first() => Http2Tunnel.RunAsync(
        "HTTP/2 by preface",
        async connection =>
        {
            await Http2Tunnel.SwitchAsync(connection);
            Assert.Equal("now"u8.ToArray(), await connection.ReadExactlyAsync(3));
            await connection.WriteAsync("last words"u8.ToArray());
            connection.Reset();
        },
        async (visitor, _) =>
        {
            var stream = await visitor.ConnectAsync("/", "http");
            await stream.ReadHeadAsync();
            await stream.WriteAsync("now"u8.ToArray());
            Assert.Equal("last words"u8.ToArray(), await stream.ReadAsync(10));
            Assert.Equal(Cancel, await stream.WaitForResetAsync());
        });

    [Fact]
    public async Task A_connection_of_the_visitor_that_breaks_cuts_all_its_WebSockets()
    {
        var ended = new AsyncCounter("connections of the backend that ended");
        await Http2Tunnel.RunAsync(
            "HTTP/2 over TLS",
            async connection =>
            {
                await Http2Tunnel.SwitchAsync(connection);
                await connection.WaitForEndAsync();
                ended.Increment();
            },
            async (visitor, _) =>
            {
                for (var i = 0; i < 5; i++)
                {
                    await (await visitor.ConnectAsync("/", "https")).ReadHeadAsync();
                }

                await visitor.DisposeAsync();
                await ended.WaitForAsync(5);
            });
    }

    /// <summary>Both directions are over: no reader takes what is sent. One that had only ended would take some and then wait.</summary>
    private static async Task AssertCutAsync(RawConnection connection)
    {
        await connection.WaitForEndAsync();
        await Assert.ThrowsAnyAsync<IOException>(async () =>
        {
            while (true)
            {
                await connection.WriteAsync(new byte[64 * 1024]);
            }
        });
    }
}
