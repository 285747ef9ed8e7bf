using System.IO.Pipes;
using System.Net.Sockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Tcp;

/// <summary>Services on named pipes. On Linux, .NET's named pipes are Unix sockets underneath.</summary>
[Trait("Engine", "each")]
public sealed class PipeServiceTests
{
    private const string Answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_service_on_a_named_pipe_is_reached_by_http_and_by_tcp_also_when_it_starts_later(bool isTcp)
    {
        var name = NewName();
        await RunAsync(name, isTcp, async tunnel =>
        {
            Assert.Equal(isTcp ? "reset" : "backend-refused", await AskAsync(tunnel, isTcp));
            for (var i = 0; i < 3; i++)
            {
                // One instance at a time, as a simple service has it: between two there is none for a moment.
                await using var service = Serve(name);
                var accepting = service.WaitForConnectionAsync();
                var asking = AskAsync(tunnel, isTcp);
                await accepting;
                await ReadThroughAsync(service, "\r\n\r\n");
                await service.WriteAsync(Encoding.ASCII.GetBytes(Answer));
                await service.DisposeAsync();
                Assert.Equal("ok", await asking);
            }
        });
    }

    [Fact]
    public async Task Many_bytes_cross_in_both_directions()
    {
        const int Length = 8 * 1024 * 1024;
        var name = NewName();
        await RunAsync(name, isTcp: true, async tunnel =>
        {
            await using var service = Serve(name);
            var accepting = service.WaitForConnectionAsync();
            await using var visitor = await TcpTunnel.VisitAsync(tunnel);
            await accepting;
            var (request, answer) = (new byte[Length], new byte[Length]);
            PatternBytes.Fill(request, 0);
            PatternBytes.Fill(answer, 7);
            var sending = Task.WhenAll(visitor.WriteAsync(request), service.WriteAsync(answer).AsTask());
            var arrived = new byte[Length];
            var arriving = service.ReadExactlyAsync(arrived).AsTask();
            PatternBytes.Verify(await visitor.ReadExactlyAsync(Length), 7);
            await arriving;
            PatternBytes.Verify(arrived, 0);
            await sending;
        });
    }

    private static string NewName() => $"t2-{Guid.NewGuid():N}";

    private static NamedPipeServerStream Serve(string name) =>
        new(name, PipeDirection.InOut, 1, PipeTransmissionMode.Byte, PipeOptions.Asynchronous);

    private static Task RunAsync(string name, bool isTcp, Func<TunnelFixture, Task> test) => TunnelFixture.RunAsync(
        1,
        test,
        (isTcp ? TcpTunnel.Setup() : new TunnelSetup()) with
        {
            Agent = options => (isTcp ? TcpTunnel.UseTcp(options) : options) is var used
                ? used with { Upstream = used.Upstream with { PipeName = name } }
                : used,
        });

    private static async Task ReadThroughAsync(Stream service, string end)
    {
        var read = "";
        var buffer = new byte[1024];
        while (!read.EndsWith(end, StringComparison.Ordinal))
        {
            var count = await service.ReadAsync(buffer);
            Assert.NotEqual(0, count);
            read += Encoding.ASCII.GetString(buffer, 0, count);
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
