using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Channels;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

/// <summary>A hub that says what the test wants it to say, to one client at a time.</summary>
internal sealed class FakeHub : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly Channel<string> _received = Channel.CreateUnbounded<string>();
    private readonly Task _serving;
    private WebSocket? _client;

    public FakeHub()
    {
        _listener.Start();
        _serving = Task.Run(ServeAsync);
    }

    /// <summary>Where it listens.</summary>
    public string Address => $"{_listener.LocalEndpoint}";

    /// <summary>The node that it says it is, before it answers a ping; null for none.</summary>
    public string? Node { get; set; }

    /// <summary>How many clients have connected.</summary>
    public AsyncCounter Clients { get; } = new("clients");

    /// <summary>The next message of a client.</summary>
    public async Task<string> ReceiveAsync()
    {
        using var limit = new CancellationTokenSource(AsyncCounter.DefaultTimeout);
        return await _received.Reader.ReadAsync(limit.Token);
    }

    /// <summary>Sends a message to the client.</summary>
    public Task SayAsync(string message) =>
        _client!.SendAsync(Encoding.UTF8.GetBytes(message), WebSocketMessageType.Text, true, _end.Token);

    /// <summary>Cuts the client off.</summary>
    public void Cut() => _client!.Abort();

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        _listener.Stop();
        await _serving;
        _end.Dispose();
    }

    private async Task ServeAsync()
    {
        try
        {
            while (true)
            {
                using TcpClient connection = await _listener.AcceptTcpClientAsync(_end.Token);
                await ServeAsync(connection.GetStream());
            }
        }
        catch (Exception) when (_end.IsCancellationRequested)
        {
            // The end of the test.
        }
    }

    [SuppressMessage("Security", "CA5350", Justification = "RFC 6455 wants it.")]
    private async Task ServeAsync(NetworkStream stream)
    {
        var head = new StringBuilder();
        var buffer = new byte[64 * 1024];
        while (!head.ToString().Contains("\r\n\r\n", StringComparison.Ordinal))
        {
            head.Append(Encoding.ASCII.GetString(buffer, 0, await stream.ReadAsync(buffer, _end.Token)));
        }

        const string Field = "Sec-WebSocket-Key: ";
        string key = head.ToString().Split("\r\n").First(static line => line.StartsWith(Field, StringComparison.OrdinalIgnoreCase));
        string accept = Convert.ToBase64String(
            SHA1.HashData(Encoding.ASCII.GetBytes(key[Field.Length..].Trim() + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
        await stream.WriteAsync(
            Encoding.ASCII.GetBytes(
                $"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"),
            _end.Token);
        using var client = WebSocket.CreateFromStream(stream, new WebSocketCreationOptions { IsServer = true });
        _client = client;
        Clients.Increment();
        try
        {
            while (true)
            {
                ValueWebSocketReceiveResult received = await client.ReceiveAsync(buffer.AsMemory(), _end.Token);
                if (received.MessageType == WebSocketMessageType.Close)
                {
                    return;
                }

                string message = Encoding.UTF8.GetString(buffer, 0, received.Count);
                if (message.Contains("\"ping\"", StringComparison.Ordinal))
                {
                    if (Node is not null)
                    {
                        await SayAsync(
                            $$$"""{"type":"message","channel":"cluster.info","key":"cluster","data":{"node":"{{{Node}}}"}}""");
                    }

                    await SayAsync("""{"type":"pong"}""");
                }
                else
                {
                    _received.Writer.TryWrite(message);
                }
            }
        }
        catch (Exception exception)
            when (exception is WebSocketException or IOException
                || (exception is OperationCanceledException && !_end.IsCancellationRequested))
        {
            // The client has left, or was cut off.
        }
    }
}
