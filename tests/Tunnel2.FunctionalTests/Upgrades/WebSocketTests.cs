using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Upgrades;

[Trait("Engine", "each")]
public sealed class WebSocketTests
{
    [Fact]
    public Task Messages_are_echoed_and_the_close_is_answered_with_its_own_words() => TunnelFixture.RunAsync(async tunnel =>
    {
        using var socket = await ConnectAsync(tunnel);
        Assert.Equal("chat", socket.SubProtocol);
        var buffer = new byte[64 * 1024];
        for (var i = 0; i < 50; i++)
        {
            var message = $"message {i} \u00e4\u20ac";
            await socket.SendAsync(Encoding.UTF8.GetBytes(message), WebSocketMessageType.Text, true, CancellationToken.None);
            var received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
            Assert.Equal((WebSocketMessageType.Text, true), (received.MessageType, received.EndOfMessage));
            Assert.Equal(message, Encoding.UTF8.GetString(buffer, 0, received.Count));
        }

        await socket.CloseAsync(WebSocketCloseStatus.EndpointUnavailable, "going home", CancellationToken.None);
        Assert.Equal((WebSocketCloseStatus.EndpointUnavailable, "going home"), (socket.CloseStatus, socket.CloseStatusDescription));
    });

    [Fact]
    public Task A_message_of_megabytes_is_echoed_whole() => TunnelFixture.RunAsync(async tunnel =>
    {
        const int Length = 5_000_000;
        using var socket = await ConnectAsync(tunnel);
        var sending = socket.SendAsync(FirstBytes(Length), WebSocketMessageType.Binary, true, CancellationToken.None).AsTask();
        var buffer = new byte[64 * 1024];
        var total = 0;
        ValueWebSocketReceiveResult received;
        do
        {
            received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
            PatternBytes.Verify(buffer.AsSpan(0, received.Count), total);
            total += received.Count;
        }
        while (!received.EndOfMessage || total < Length);
        await sending;
        Assert.Equal(Length, total);
        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
    });

    [Fact]
    public Task Many_sockets_at_once_keep_to_themselves() => TunnelFixture.RunAsync(async tunnel =>
    {
        await Task.WhenAll(Enumerable.Range(0, 50).Select(async i =>
        {
            using var socket = await ConnectAsync(tunnel);
            var buffer = new byte[100];
            for (var round = 0; round < 10; round++)
            {
                var message = Encoding.ASCII.GetBytes($"{i}/{round}");
                await socket.SendAsync(message, WebSocketMessageType.Text, true, CancellationToken.None);
                var received = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None);
                Assert.Equal(message, buffer[..received.Count]);
            }

            await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, CancellationToken.None);
        }));
    });

    private static ReadOnlyMemory<byte> FirstBytes(int length)
    {
        var bytes = new byte[length];
        PatternBytes.Fill(bytes, 0);
        return bytes;
    }

    private static async Task<ClientWebSocket> ConnectAsync(TunnelFixture tunnel)
    {
        var socket = new ClientWebSocket();
        socket.Options.AddSubProtocol("chat");
        using var invoker = new HttpMessageInvoker(new SocketsHttpHandler
        {
            UseProxy = false,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var connection = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await connection.ConnectAsync(tunnel.Entry.Http, cancellationToken);
                return new NetworkStream(connection, ownsSocket: true);
            },
        });
        await socket.ConnectAsync(new Uri($"ws://{TunnelFixture.Host}:{tunnel.Entry.Http.Port}/ws-echo"), invoker, CancellationToken.None);
        return socket;
    }
}
