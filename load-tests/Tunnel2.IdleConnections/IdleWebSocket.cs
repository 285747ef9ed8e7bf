using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Tunnel2.IdleConnections;

/// <summary>A WebSocket of which only the handshake is spoken, and one echo in the end. Nothing waits on its socket in between.</summary>
internal sealed class IdleWebSocket : IIdleConnection
{
    /// <summary>Connections from one address to one port run out of ports; these many come from each of 127.0.0.1, 127.0.0.2 …</summary>
    private const int PerAddress = 10_000;

    private static readonly byte[] _masked = [0x81, 0x82, 0, 0, 0, 0, (byte)'h', (byte)'i'];
    private static readonly byte[] _echo = [0x81, 0x02, (byte)'h', (byte)'i'];

    private readonly IdleOptions _options;
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };

    public IdleWebSocket(IdleOptions options, int number)
    {
        _options = options;
        _socket.Bind(new IPEndPoint(new IPAddress([127, 0, 0, (byte)(1 + (number / PerAddress))]), 0));
    }

    public async Task OpenAsync(CancellationToken cancellationToken)
    {
        await _socket.ConnectAsync(_options.To, cancellationToken).ConfigureAwait(false);
        var request = $"GET {_options.Path} HTTP/1.1\r\nHost: {_options.Host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        await _socket.SendAsync(Encoding.ASCII.GetBytes(request), cancellationToken).ConfigureAwait(false);
        var answer = new StringBuilder();
        var buffer = new byte[1024];
        while (!answer.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            var count = await _socket.ReceiveAsync(buffer, cancellationToken).ConfigureAwait(false);
            if (count == 0)
            {
                break;
            }

            answer.Append(Encoding.Latin1.GetString(buffer, 0, count));
        }

        if (!answer.ToString().StartsWith("HTTP/1.1 101 ", StringComparison.Ordinal))
        {
            throw new IOException($"The handshake was answered with '{answer.ToString().Split('\r')[0]}'.");
        }
    }

    public async Task CheckAsync(CancellationToken cancellationToken)
    {
        await _socket.SendAsync(_masked, cancellationToken).ConfigureAwait(false);
        var buffer = new byte[_echo.Length];
        for (var received = 0; received < buffer.Length;)
        {
            var count = await _socket.ReceiveAsync(buffer.AsMemory(received), cancellationToken).ConfigureAwait(false);
            received += count > 0 ? count : throw new IOException("The WebSocket has ended.");
        }

        if (!buffer.AsSpan().SequenceEqual(_echo))
        {
            throw new IOException("The WebSocket did not echo.");
        }
    }

    public void Dispose() => _socket.Dispose();
}
