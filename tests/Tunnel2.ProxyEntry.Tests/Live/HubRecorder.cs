using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>A subscriber to everything, which keeps each message that a hub publishes. Thread-safe.</summary>
internal sealed class HubRecorder : IDisposable
{
    private readonly List<string> _messages = [];
    private readonly AsyncCounter _count = new("messages of the hub");
    private readonly Hub _hub;
    private readonly HubClient _client;
    private readonly Socket _near;
    private readonly NetworkStream _far;
    private readonly WebSocket _socket;
    private readonly Task _reading;

    private HubRecorder(Hub hub, Socket near, Socket far)
    {
        _hub = hub;
        _near = near;
        _far = new NetworkStream(far, ownsSocket: true);
        _socket = WebSocket.CreateFromStream(_far, new WebSocketCreationOptions { IsServer = false });
        _client = hub.Add(near);

        // There is no handshake here that could still be on its way.
        _client.OnHeard();
        _reading = Task.Run(ReadAsync);
    }

    /// <summary>Subscribes; what is published after this is kept.</summary>
    public static async Task<HubRecorder> StartAsync(Hub hub)
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        var far = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await far.ConnectAsync(listener.LocalEndPoint!);
        var recorder = new HubRecorder(hub, await listener.AcceptAsync(), far);
        Assert.Equal(SubscribeStatus.Subscribed, await hub.SubscribeAsync(recorder._client, ">", static () => { }));
        return recorder;
    }

    /// <summary>Waits for a message of a channel that has a text, past ones included, and returns the first.</summary>
    /// <exception cref="TimeoutException">None came; the exception has what did.</exception>
    public async Task<string> WaitForAsync(string channel, string text = "")
    {
        for (var seen = 0; ; seen++)
        {
            try
            {
                await _count.WaitForAsync(seen + 1);
            }
            catch (TimeoutException exception)
            {
                throw new TimeoutException($"No '{text}' on {channel} among:\n{string.Join('\n', All())}", exception);
            }

            var message = All()[seen];
            if (IsOf(channel, message) && message.Contains(text, StringComparison.Ordinal))
            {
                return message;
            }
        }
    }

    /// <summary>The messages of a channel so far, in their order.</summary>
    public IReadOnlyList<string> Of(string channel) => [.. All().Where(message => IsOf(channel, message))];

    public void Dispose()
    {
        _hub.Remove(_client);
        _socket.Dispose();
        _far.Dispose();
        _near.Dispose();
        _reading.GetAwaiter().GetResult();
    }

    private static bool IsOf(string channel, string message) =>
        message.Contains($"\"channel\":\"{channel}\"", StringComparison.Ordinal);

    private List<string> All()
    {
        lock (_messages)
        {
            return [.. _messages];
        }
    }

    private async Task ReadAsync()
    {
        var buffer = new byte[64 * 1024];
        var length = 0;
        try
        {
            while (true)
            {
                var received = await _socket.ReceiveAsync(buffer.AsMemory(length), CancellationToken.None);
                length += received.Count;
                if (received.MessageType == WebSocketMessageType.Close)
                {
                    return;
                }

                if (received.EndOfMessage)
                {
                    lock (_messages)
                    {
                        _messages.Add(Encoding.UTF8.GetString(buffer, 0, length));
                    }

                    length = 0;
                    _count.Increment();
                }
            }
        }
        catch (Exception exception)
            when (exception is WebSocketException or IOException or ObjectDisposedException or OperationCanceledException)
        {
            // It was disposed of.
        }
    }
}
