using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades;

public sealed class HalfCloseTests
{
    private const string Fields = "Connection: Upgrade\r\nUpgrade: raw\r\n";
    private const string Switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n";

    [Fact]
    public Task A_visitor_that_has_said_all_still_hears_the_backend() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync(Switched);
            Assert.Equal("question"u8.ToArray(), await connection.ReadToEndAsync());
            Assert.Equal(ConnectionEnding.Fin, connection.Ending);
            for (var i = 0; i < 20; i++)
            {
                await connection.WriteAsync(PatternBytes.Window(i * 10_000, 10_000));
            }

            await connection.CloseAsync();
        },
        async tunnel =>
        {
            await using var visitor = await UpgradeAsync(tunnel);
            await visitor.WriteAsync("question");
            await visitor.ShutdownSendAsync();
            var answer = await visitor.ReadToEndAsync();
            Assert.Equal((200_000, ConnectionEnding.Fin), (answer.Length, visitor.Ending));
            PatternBytes.Verify(answer, 0);
        });

    [Fact]
    public async Task A_backend_that_has_said_all_still_hears_the_visitor()
    {
        var heard = new WaitSignal("the backend heard all");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(Switched + "last words");
                await connection.ShutdownSendAsync();
                var bytes = await connection.ReadToEndAsync();
                PatternBytes.Verify(bytes, 0);
                Assert.Equal((200_000, ConnectionEnding.Fin), (bytes.Length, connection.Ending));
                heard.Set();
            },
            async tunnel =>
            {
                await using var visitor = await UpgradeAsync(tunnel);
                Assert.Equal("last words"u8.ToArray(), await visitor.ReadToEndAsync());
                Assert.Equal(ConnectionEnding.Fin, visitor.Ending);
                for (var i = 0; i < 20; i++)
                {
                    await visitor.WriteAsync(PatternBytes.Window(i * 10_000, 10_000));
                }

                Assert.False(heard.IsSet);
                await visitor.ShutdownSendAsync();
                await heard.WaitAsync();
            });
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Behind_an_end_of_the_backend_a_visitor_that_leaves_or_stalls_is_gone_for_it(bool leaves)
    {
        var ended = new WaitSignal("the backend's connection ended");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync(Switched);
                await connection.ShutdownSendAsync();
                await connection.WaitForEndAsync();
                ended.Set();
            },
            async tunnel =>
            {
                await using var visitor = await UpgradeAsync(tunnel);
                Assert.Empty(await visitor.ReadToEndAsync());
                if (leaves)
                {
                    visitor.Reset();
                }

                await ended.WaitAsync();
            },
            new TunnelSetup { Settings = leaves ? [] : ["Timeouts:BodyIdle=100ms"] });
    }

    [Fact]
    public Task A_visitor_that_ends_its_direction_behind_a_request_gets_its_answer() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/bytes/3000000", TunnelFixture.Host);
            await visitor.ShutdownSendAsync();
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(200, head.StatusCode);
            var body = await visitor.ReadBodyAsync(head);
            Assert.Equal((3_000_000, ConnectionEnding.Complete), (body.Bytes.Length, body.Ending));
            Assert.Equal(ConnectionEnding.Fin, await visitor.WaitForEndAsync());
        },
        new TunnelSetup { Settings = ["Timeouts:HalfClosed=20s"] });

    private static async Task<RawHttpClient> UpgradeAsync(TunnelFixture tunnel)
    {
        var visitor = await tunnel.ConnectAsync();
        await visitor.SendRequestAsync("/", TunnelFixture.Host, fields: Fields);
        Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
        return visitor;
    }
}
