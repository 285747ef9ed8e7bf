using System.Net;
using System.Net.Sockets;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Requests;

/// <summary>A tunnel whose service is a public address of a tunnel.</summary>
public sealed class LoopTests
{
    private readonly AsyncCounter _rounds = new("connections to the service");
    private IPEndPoint? _entry;

    [Fact]
    public Task A_loop_ends_after_ten_rounds_and_says_so() => TunnelFixture.RunAsync(LeadBackAsync, async tunnel =>
    {
        _entry = tunnel.Entry.Http;
        var (head, body) = await tunnel.ExchangeAsync("/", method: "POST", fields: "Content-Length: 0\r\nAccept: text/html\r\n");
        Assert.Equal(508, head.StatusCode);
        Assert.Contains("proxy_loop_detected", head["Proxy-Status"], StringComparison.Ordinal);
        Assert.Contains("The tunnel leads back to itself", body.Text(), StringComparison.Ordinal);
        Assert.Equal(10, _rounds.Value);
    });

    [Theory]
    [InlineData("by=_tunnel2.9", 200)]
    [InlineData("by=_tunnel2.10", 508)]
    [InlineData("for=1.2.3.4;by=\"_tunnel2.2147483647\"", 508)]
    public Task Ten_tunnels_in_a_row_are_no_loop(string forwarded, int status) => TunnelFixture.RunAsync(async tunnel =>
    {
        var (head, _) = await tunnel.ExchangeAsync("/", fields: $"Forwarded: {forwarded}\r\n");
        Assert.Equal(status, head.StatusCode);
        await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
        var stream = await visitor.OpenAsync(
            [(":method", "GET"), (":scheme", "http"), (":authority", TunnelFixture.Host), (":path", "/"), ("forwarded", forwarded)],
            end: true);
        Assert.Equal(status, (await stream.ReadAnswerAsync()).Status);
    });

    private async Task LeadBackAsync(RawConnection connection)
    {
        _rounds.Increment();
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(_entry!);
        await using var back = new RawConnection(socket);
        await Task.WhenAny(CopyAsync(connection, back), CopyAsync(back, connection));
    }

    private static async Task CopyAsync(RawConnection from, RawConnection to)
    {
        var buffer = new byte[4096];
        for (int read; (read = await from.ReadAsync(buffer)) > 0;)
        {
            await to.WriteAsync(buffer.AsMemory(0, read));
        }
    }
}
