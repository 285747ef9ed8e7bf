using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Health;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Health;

public sealed class ServiceProbeTests
{
    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", null)]
    [InlineData("HTTP/1.0 204 No Content\r\n\r\n", null)]
    [InlineData("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", null)]
    [InlineData("HTTP/1.1 404 Not Found\r\n\r\n", "status 404")]
    [InlineData("HTTP/1.1 503 Service Unavailable\r\n\r\n", "status 503")]
    [InlineData("SSH-2.0-OpenSSH\r\n", "no answer of HTTP/1.1")]
    [InlineData("HTTP/1.1 2", "no answer of HTTP/1.1")]
    [InlineData("", "no answer of HTTP/1.1")]
    public async Task A_request_is_answered_by_a_status_below_400(string answer, string? problem)
    {
        string? asked = null;
        await using var server = RawTcpServer.Start(async connection =>
        {
            asked = (await connection.ReadHeadAsync()).Text;
            await connection.WriteAsync(answer);
        });
        Assert.Equal(problem, await LookAsync(server.Port, "/health?x=1"));
        Assert.Equal(
            $"GET /health?x=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.Port}\r\nUser-Agent: tunnel2-health\r\nConnection: close\r\n\r\n", asked);
    }

    [Fact]
    public async Task A_connection_is_enough_for_tcp()
    {
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        Assert.Null(await LookAsync(server.Port, HealthCheck.Connect));
    }

    [Theory]
    [InlineData("tcp")]
    [InlineData("/")]
    public async Task Where_nothing_listens_there_is_no_connection(string target)
    {
        using var port = new RefusedPort();
        Assert.Equal("no connection (ConnectionRefused)", await LookAsync(port.Port, target));
    }

    [Fact]
    public async Task A_service_that_says_nothing_is_too_slow()
    {
        await using var server = RawTcpServer.Start(static connection => connection.WaitForEndAsync());
        Assert.Equal("no answer in 0 s", await LookAsync(server.Port, "/", TimeSpan.FromMilliseconds(100)));
    }

    private static async Task<string?> LookAsync(int port, string target, TimeSpan? timeout = null)
    {
        var backend = new BackendTarget(false, "127.0.0.1", port);
        var check = new HealthCheck(target) { Timeout = timeout ?? TimeSpan.FromSeconds(30) };
        return await new ServiceProbe(check, backend, new BackendConnector(backend, new BufferPool()), TimeProvider.System)
            .LookAsync(CancellationToken.None);
    }
}
