using System.Globalization;
using System.Net;
using System.Net.WebSockets;
using System.Text;

namespace Tunnel2.Client.Live;

/// <summary>A subscriber of a server's hub: connects, subscribes, returns the messages one by one. Not thread-safe.</summary>
internal sealed class HubConnection : IDisposable
{
    /// <summary>The longest message of a server, in bytes.</summary>
    private const int MaxMessage = 4 * 1024 * 1024;

    private readonly ClientWebSocket _socket = new();
    private byte[] _buffer = new byte[16 * 1024];

    /// <summary>How far the server's clock is ahead of this one, to the second.</summary>
    public TimeSpan ClockOffset { get; private set; }

    /// <summary>Connects.</summary>
    /// <exception cref="WebSocketException">The connection failed; <see cref="Describe"/> says why.</exception>
    public async Task ConnectAsync(TopOptions options, TimeProvider time, CancellationToken cancellationToken)
    {
        _socket.Options.CollectHttpResponseDetails = true;
        _socket.Options.Proxy = null;
        if (options.Token is not null)
        {
            _socket.Options.SetRequestHeader("Authorization", $"Bearer {options.Token}");
        }

        await _socket.ConnectAsync(options.Hub, cancellationToken);
        if (_socket.HttpResponseHeaders?.TryGetValue("Date", out IEnumerable<string>? dates) == true
            && DateTimeOffset.TryParse(dates.FirstOrDefault(), CultureInfo.InvariantCulture, out DateTimeOffset date))
        {
            // Dates are whole seconds, so a difference of less than two does not count.
            TimeSpan offset = date - time.GetUtcNow();
            ClockOffset = offset.Duration() < TimeSpan.FromSeconds(2) ? TimeSpan.Zero : offset;
        }

        _socket.HttpResponseHeaders = null;
    }

    /// <summary>Sends a message to the hub.</summary>
    public Task SendAsync(string json, CancellationToken cancellationToken) =>
        _socket.SendAsync(Encoding.UTF8.GetBytes(json), WebSocketMessageType.Text, true, cancellationToken);

    /// <summary>The next message, valid until the next call; null when the server closed.</summary>
    /// <exception cref="InvalidDataException">It is longer than a server's messages can be.</exception>
    public async Task<ReadOnlyMemory<byte>?> ReceiveAsync(CancellationToken cancellationToken)
    {
        int length = 0;
        while (true)
        {
            ValueWebSocketReceiveResult received = await _socket.ReceiveAsync(_buffer.AsMemory(length), cancellationToken);
            if (received.MessageType == WebSocketMessageType.Close)
            {
                return null;
            }

            length += received.Count;
            if (received.EndOfMessage)
            {
                return _buffer.AsMemory(0, length);
            }

            if (length == _buffer.Length)
            {
                if (length >= MaxMessage)
                {
                    throw new InvalidDataException("the server sent a message that is longer than any of its kind");
                }

                Array.Resize(ref _buffer, length * 2);
            }
        }
    }

    /// <summary>Why the server closed, for a line of text.</summary>
    public string DescribeClose() => $"the server closed the connection ({(int?)_socket.CloseStatus} {_socket.CloseStatusDescription})";

    /// <summary>Why the connection was refused, for a line of text, and whether trying again can help.</summary>
    public string Describe(Exception exception, bool hasToken, out bool isFinal)
    {
        HttpStatusCode status = _socket.HttpStatusCode;
        isFinal = status is HttpStatusCode.Unauthorized or HttpStatusCode.Forbidden;
        return status switch
        {
            HttpStatusCode.Unauthorized =>
                hasToken ? "the admin token is wrong" : $"the server wants its admin token (--token, or {TopCommandLine.TokenVariable})",
            HttpStatusCode.Forbidden => "the server refused: name it by its IP address, or set Tunnel2:Admin:Token there",
            HttpStatusCode.ServiceUnavailable => "the server takes no more subscribers, or its live plane is off",
            HttpStatusCode.TooManyRequests => "too many connections from this address",
            0 or HttpStatusCode.SwitchingProtocols =>
                (exception.InnerException?.InnerException ?? exception.InnerException ?? exception).Message,
            _ => $"there is no hub: the answer was {(int)status}",
        };
    }

    /// <inheritdoc/>
    public void Dispose() => _socket.Dispose();
}
