using System.Net;
using System.Net.WebSockets;
using System.Text;
using System.Text.Json;

namespace Tunnel2.FunctionalTests.Live;

/// <summary>A client of <c>/live</c>.</summary>
internal sealed class Subscriber : IDisposable
{
    /// <summary>Nothing takes so long: a test whose message never comes fails instead of hanging.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(60);

    private readonly byte[] _buffer = new byte[256 * 1024];
    private readonly CancellationTokenSource _limit = CancellationTokenSource.CreateLinkedTokenSource(
        TestContext.Current.CancellationToken);

    private Subscriber(ClientWebSocket socket)
    {
        Socket = socket;
        _limit.CancelAfter(_patience);
    }

    public ClientWebSocket Socket { get; }

    public static async Task<Subscriber> ConnectAsync(IPEndPoint admin, Action<ClientWebSocketOptions>? configure = null)
    {
        var socket = new ClientWebSocket();
        socket.Options.KeepAliveInterval = TimeSpan.Zero;
        configure?.Invoke(socket.Options);
        await socket.ConnectAsync(new Uri($"ws://{admin}/live"), TestContext.Current.CancellationToken);
        return new Subscriber(socket);
    }

    public Task SendAsync(string text) =>
        Socket.SendAsync(Encoding.UTF8.GetBytes(text), WebSocketMessageType.Text, true, _limit.Token);

    public Task SubscribeAsync(string channel) => SendAsync($$"""{"op":"subscribe","channel":"{{channel}}"}""");

    /// <summary>The next message, or null when the server closed.</summary>
    public async Task<JsonElement?> ReceiveAsync()
    {
        var length = 0;
        while (true)
        {
            var received = await Socket.ReceiveAsync(_buffer.AsMemory(length), _limit.Token);
            if (received.MessageType == WebSocketMessageType.Close)
            {
                return null;
            }

            length += received.Count;
            if (received.EndOfMessage)
            {
                return JsonDocument.Parse(_buffer.AsMemory(0, length)).RootElement.Clone();
            }
        }
    }

    /// <summary>Reads until a message meets the condition.</summary>
    public async Task<JsonElement> ReceiveUntilAsync(Func<JsonElement, bool> isIt)
    {
        while (await ReceiveAsync() is { } message)
        {
            if (isIt(message))
            {
                return message;
            }
        }

        throw new InvalidOperationException($"The server closed: {Socket.CloseStatus} {Socket.CloseStatusDescription}");
    }

    /// <summary>Reads until the server closes.</summary>
    public async Task<WebSocketCloseStatus?> ReceiveCloseAsync()
    {
        while (await ReceiveAsync() is not null)
        {
        }

        return Socket.CloseStatus;
    }

    public void Dispose()
    {
        Socket.Dispose();
        _limit.Dispose();
    }
}
