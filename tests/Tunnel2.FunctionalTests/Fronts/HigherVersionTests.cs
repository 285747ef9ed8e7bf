using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>RFC 9110 section 2.5: a higher minor version is read as the highest one that is known, on both sides.</summary>
public sealed class HigherVersionTests
{
    [Theory]
    [InlineData("1.2")]
    [InlineData("1.9")]
    public Task A_request_of_a_higher_minor_version_is_one_of_1_1(string version) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 2; i++)
            {
                await visitor.WriteAsync(
                    $"POST /a HTTP/{version}\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
                var head = await visitor.ReadHeadAsync();
                Assert.Equal("HTTP/1.1 200 OK", head.StartLine);
                var body = await visitor.ReadBodyAsync(head);
                Assert.Equal("POST /a HTTP/1.1", body.Request().StartLine);
                Assert.Equal("ok", body.RequestBody());
            }
        });

    [Theory]
    [InlineData("1.2")]
    [InlineData("1.9")]
    public Task A_response_of_a_higher_minor_version_is_one_of_1_1(string version) => TunnelFixture.RunAsync(
        async connection =>
        {
            while (true)
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync($"HTTP/{version} 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
            }
        },
        async tunnel =>
        {
            for (var i = 0; i < 2; i++)
            {
                var (head, body) = await tunnel.ExchangeAsync("/");
                Assert.Equal("HTTP/1.1 200 OK", head.StartLine);
                Assert.Equal("ok", body.Text());
            }

            Assert.Equal(1, tunnel.RawBackend.ConnectionsAccepted.Value);
        });
}
