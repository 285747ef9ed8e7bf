using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Backends;

public sealed class TlsBackendTests
{
    [Fact]
    public async Task A_backend_of_this_machine_may_speak_tls_with_its_own_certificate()
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions { UseTls = true });
        await TunnelFixture.RunAsync(
            backend.Port,
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                foreach (var length in new[] { 0, 1, 100_000, 3_000_000 })
                {
                    var (head, body) = await visitor.ExchangeAsync($"/bytes/{length}", TunnelFixture.Host);
                    Assert.Equal((200, length), (head.StatusCode, body.Bytes.Length));
                    PatternBytes.Verify(body.Bytes, 0);
                    await visitor.WriteAsync(
                        $"POST /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {body.Bytes.Length}\r\n\r\n");
                    await visitor.WriteAsync(body.Bytes);
                    var answer = await visitor.ReadHeadAsync();
                    Assert.Contains(PatternBytes.Sha256Hex(length), (await visitor.ReadBodyAsync(answer)).Text(), StringComparison.Ordinal);
                }
            },
            new TunnelSetup { Agent = UseHttps });
    }

    [Fact]
    public Task A_backend_without_tls_is_a_502_that_says_so() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.WriteAsync("HTTP/1.1 400 Bad Request\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal(502, head.StatusCode);
            Assert.Equal("backend-not-tls", head["Tunnel2-Error"]);
        },
        new TunnelSetup { Agent = UseHttps });

    private static AgentOptions UseHttps(AgentOptions options) => options with { Upstream = options.Upstream with { IsHttps = true } };
}
