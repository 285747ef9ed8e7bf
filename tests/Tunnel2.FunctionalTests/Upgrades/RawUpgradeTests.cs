using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades;

[Trait("Engine", "each")]
public sealed class RawUpgradeTests
{
    private const string Fields = "Connection: Upgrade\r\nUpgrade: echo-raw\r\n";
    private const string Switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo-raw\r\n\r\n";

    [Fact]
    public Task Bytes_go_both_ways_after_an_upgrade() => TunnelFixture.RunAsync(async tunnel =>
    {
        const int Length = 8 * 1024 * 1024;
        await using var visitor = await UpgradeAsync(tunnel, "/upgrade/raw");
        var sending = Task.Run(async () =>
        {
            for (var position = 0; position < Length;)
            {
                var piece = PatternBytes.Window(position, Math.Min(100_003, Length - position));
                await visitor.WriteAsync(piece);
                position += piece.Length;
            }
        });
        PatternBytes.Verify(await visitor.ReadExactlyAsync(Length), 0);
        await sending;
    });

    [Fact]
    public Task Each_small_piece_arrives_before_the_next_is_sent() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await UpgradeAsync(tunnel, "/upgrade/raw");
        for (var i = 0; i < 200; i++)
        {
            await visitor.WriteAsync(new[] { (byte)i, (byte)(i >> 8) });
            Assert.Equal([(byte)i, (byte)(i >> 8)], await visitor.ReadExactlyAsync(2));
        }
    });

    [Fact]
    public Task The_backend_sees_the_upgrade_and_its_answer_is_passed_on() => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            Assert.Equal(["Upgrade"], head.All("Connection"));
            Assert.Equal(["echo-raw, other/2"], head.All("Upgrade"));
            Assert.Equal(["x"], head.All("Sec-Thing"));
            Assert.Null(head["Content-Length"]);
            Assert.Null(head["Transfer-Encoding"]);
            await connection.WriteAsync(
                "HTTP/1.1 101 Switched\r\nUpgrade: other/2\r\nConnection: upgrade, x-hop\r\nX-Hop: 1\r\nX-Kept: 2\r\n\r\nfirst words");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync(
                "/", TunnelFixture.Host, fields: "Connection: upgrade\r\nUpgrade: echo-raw, other/2\r\nSec-Thing: x\r\n");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(101, head.StatusCode);
            Assert.Equal("other/2", head["Upgrade"]);
            Assert.Equal("Upgrade", head["Connection"]);
            Assert.Equal("2", head["X-Kept"]);
            Assert.Null(head["X-Hop"]);
            Assert.Null(head["Transfer-Encoding"]);
            Assert.Equal("first words"u8.ToArray(), await visitor.ReadExactlyAsync(11));
        });

    [Fact]
    public Task What_a_visitor_sends_behind_its_request_goes_to_the_new_protocol() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(Switched);
            Assert.Equal("early"u8.ToArray(), await connection.ReadExactlyAsync(5));
            await connection.WriteAsync("late");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync($"GET / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n{Fields}\r\nearly");
            Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
            Assert.Equal("late"u8.ToArray(), await visitor.ReadExactlyAsync(4));
        });

    [Fact]
    public Task The_end_that_the_backend_says_reaches_the_visitor_behind_the_last_byte() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(Switched);
            await connection.WriteAsync(PatternBytes.Window(0, 1_000_000));
            await connection.CloseAsync();
        },
        async tunnel =>
        {
            await using var visitor = await UpgradeAsync(tunnel, "/");
            var bytes = await visitor.ReadToEndAsync();
            Assert.Equal((1_000_000, ConnectionEnding.Fin), (bytes.Length, visitor.Ending));
            PatternBytes.Verify(bytes, 0);
        });

    [Fact]
    public async Task A_visitor_that_leaves_takes_the_backends_connection_with_it()
    {
        var ended = new WaitSignal("the backend's connection ended");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(Switched);
                await connection.WaitForEndAsync();
                ended.Set();
            },
            async tunnel =>
            {
                await using var visitor = await UpgradeAsync(tunnel, "/");
                visitor.Reset();
                await ended.WaitAsync();
            });
    }

    [Fact]
    public async Task A_backend_that_breaks_off_is_no_orderly_end_for_the_visitor()
    {
        var mayBreak = new WaitSignal("the backend may break off");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(Switched + "x");
                await mayBreak.WaitAsync();
                connection.Reset();
            },
            async tunnel =>
            {
                await using var visitor = await UpgradeAsync(tunnel, "/");
                Assert.Equal("x"u8.ToArray(), await visitor.ReadExactlyAsync(1));
                mayBreak.Set();
                Assert.Equal(ConnectionEnding.Reset, await visitor.WaitForEndAsync());
            });
    }

    [Fact]
    public Task A_refused_upgrade_is_an_answer_like_any_other() => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        for (var i = 0; i < 3; i++)
        {
            var (head, body) = await visitor.ExchangeAsync(
                "/upgrade/raw", TunnelFixture.Host, fields: "Connection: Upgrade\r\nUpgrade: unheard-of\r\n");
            Assert.Equal(426, head.StatusCode);
            Assert.Equal("Ask for an upgrade to echo-raw.\n", body.Text());
        }

        var (next, whole) = await visitor.ExchangeAsync("/bytes/5", TunnelFixture.Host);
        Assert.Equal((200, 5), (next.StatusCode, whole.Bytes.Length));
    });

    [Theory]
    [InlineData("")]
    [InlineData("Upgrade: echo-raw\r\n")]
    public Task A_switch_without_a_request_for_it_is_a_broken_backend(string fields) => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            Assert.Null(head["Upgrade"]);
            await connection.WriteAsync(Switched);
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/", fields: fields);
            Assert.Equal(502, head.StatusCode);
            Assert.Equal("backend-protocol", head["Tunnel2-Error"]);
        });

    private static async Task<RawHttpClient> UpgradeAsync(TunnelFixture tunnel, string target)
    {
        var visitor = await tunnel.ConnectAsync();
        await visitor.SendRequestAsync(target, TunnelFixture.Host, fields: Fields);
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(101, head.StatusCode);
        Assert.Equal("echo-raw", head["Upgrade"]);
        return visitor;
    }
}
