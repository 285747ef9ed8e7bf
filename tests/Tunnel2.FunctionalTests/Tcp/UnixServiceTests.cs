using System.Net.Sockets;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Tcp;

[Trait("Engine", "each")]
public sealed class UnixServiceTests
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_service_on_a_unix_socket_is_reached_by_http_and_by_tcp_also_when_it_starts_later(bool isTcp)
    {
        var path = Path.Combine(Path.GetTempPath(), $"t2-{Guid.NewGuid():N}.sock");
        var setup = (isTcp ? TcpTunnel.Setup() : new TunnelSetup()) with
        {
            Agent = options => (isTcp ? TcpTunnel.UseTcp(options) : options) is var used
                ? used with { Upstream = used.Upstream with { SocketPath = path } }
                : used,
        };
        try
        {
            await TunnelFixture.RunAsync(
                1,
                async tunnel =>
                {
                    Assert.Equal(isTcp ? "reset" : "backend-refused", await AskAsync(tunnel, isTcp));
                    using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                    listener.Bind(new UnixDomainSocketEndPoint(path));
                    listener.Listen();
                    for (var i = 0; i < 2; i++)
                    {
                        var asking = AskAsync(tunnel, isTcp);
                        await using var service = new RawConnection(await listener.AcceptAsync());
                        await service.ReadThroughAsync("\r\n\r\n");
                        await service.WriteAsync("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
                        await service.ShutdownSendAsync();
                        Assert.Equal("ok", await asking);
                    }
                },
                setup);
        }
        finally
        {
            File.Delete(path);
        }
    }

    private static async Task<string> AskAsync(TunnelFixture tunnel, bool isTcp)
    {
        try
        {
            await using var visitor = await (isTcp ? TcpTunnel.VisitAsync(tunnel) : tunnel.ConnectAsync());
            var (head, body) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
            return head.StatusCode == 200 ? body.Text() : head["Tunnel2-Error"] ?? "";
        }
        catch (Exception exception) when (exception is RawConnectionEndedException or IOException or SocketException)
        {
            return "reset";
        }
    }
}
