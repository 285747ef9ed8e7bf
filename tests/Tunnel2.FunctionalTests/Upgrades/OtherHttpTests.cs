using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Upgrades;

/// <summary>A visitor that offers ProxyEntry another way to carry HTTP, as <c>curl --http2</c> does, asks nothing of the service.</summary>
public sealed class OtherHttpTests
{
    [Theory]
    [InlineData("Upgrade: h2c\r\n")]
    [InlineData("Upgrade: H2C\r\n")]
    [InlineData("Upgrade: TLS/1.0\r\n")]
    [InlineData("Upgrade: HTTP/2.0\r\n")]
    [InlineData("Upgrade: h2c, TLS/1.0,HTTP/3\r\n")]
    [InlineData("Upgrade: h2c\r\nUpgrade: TLS/1.3\r\n")]
    [InlineData("Upgrade: ,\r\n")]
    public Task The_request_goes_as_a_plain_one(string fields) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            foreach (var body in new[] { "", "a body" })
            {
                await using var visitor = await tunnel.ConnectAsync();
                var length = body.Length > 0 ? $"Content-Length: {body.Length}\r\n" : "";
                for (var i = 0; i < 2; i++)
                {
                    await visitor.WriteAsync(
                        $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                            + $"{fields}HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n{length}\r\n{body}");
                    var head = await visitor.ReadHeadAsync();
                    var answer = await visitor.ReadBodyAsync(head);
                    Assert.Equal(200, head.StatusCode);
                    foreach (var name in new[] { "Upgrade", "Connection", "HTTP2-Settings" })
                    {
                        Assert.Empty(answer.Request().All(name));
                    }

                    Assert.Equal(body, answer.RequestBody());
                }
            }
        });

    [Theory]
    [InlineData("Upgrade: h2c, websocket\r\n", "websocket")]
    [InlineData("Upgrade: websocket, h2c\r\n", "websocket")]
    [InlineData("Upgrade: h2c\r\nUpgrade: echo/1\r\n", "echo/1")]
    [InlineData("Upgrade: TLS/1.0, foo, HTTP/2.0, bar/2\r\n", "foo, bar/2")]
    [InlineData("Upgrade: foo, bar/2\r\n", "foo, bar/2")]
    public Task What_else_is_offered_stays_an_upgrade(string fields, string offered) => TunnelFixture.RunAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            Assert.Equal(
                [offered],
                head.All("Upgrade").Select(
                    static value => value.Replace(",", ", ", StringComparison.Ordinal).Replace("  ", " ", StringComparison.Ordinal)));
            await connection.WriteAsync(
                $"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {offered.Split(',')[0]}\r\n\r\n");
            await connection.WriteAsync(await connection.ReadExactlyAsync(4));
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync(
                "/", TunnelFixture.Host, fields: $"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMA\r\n{fields}");
            Assert.Equal(101, (await visitor.ReadHeadAsync()).StatusCode);
            await visitor.WriteAsync("ping");
            Assert.Equal("ping"u8.ToArray(), await visitor.ReadExactlyAsync(4));
        });
}
