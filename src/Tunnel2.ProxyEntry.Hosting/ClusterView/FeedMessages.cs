using System.Net.WebSockets;
using System.Runtime.InteropServices;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>Reads the messages of a node's hub from its feed. Not thread-safe.</summary>
internal sealed class FeedMessages(WebSocket socket)
{
    /// <summary>The longest message: a snapshot of many sessions is about a megabyte.</summary>
    public const int Longest = 8 * 1024 * 1024;

    private byte[] _buffer = new byte[16 * 1024];

    /// <summary>The next message, in this object's own memory.</summary>
    /// <returns>Null: the node has closed.</returns>
    /// <exception cref="InvalidDataException">It is too long.</exception>
    public async ValueTask<ReadOnlyMemory<byte>?> NextAsync(CancellationToken cancellationToken)
    {
        var length = 0;
        while (true)
        {
            if (length == _buffer.Length)
            {
                if (length >= Longest)
                {
                    throw new InvalidDataException("a message is too long");
                }

                Array.Resize(ref _buffer, 2 * length);
            }

            var received = await socket.ReceiveAsync(_buffer.AsMemory(length), cancellationToken).ConfigureAwait(false);
            if (received.MessageType == WebSocketMessageType.Close)
            {
                return null;
            }

            length += received.Count;
            if (received.EndOfMessage)
            {
                return _buffer.AsMemory(0, length);
            }
        }
    }

    /// <summary>Takes a message apart.</summary>
    /// <param name="message">The message.</param>
    /// <param name="take">Gets each value.</param>
    /// <param name="removed">Gets channels that have ended.</param>
    /// <param name="skipped">Gets how many messages were left out.</param>
    /// <exception cref="InvalidDataException">It is no message of a hub.</exception>
    public static void Read(ReadOnlyMemory<byte> message, Action<FeedValue> take, Action<string> removed, Action<long> skipped)
    {
        try
        {
            using var document = JsonDocument.Parse(message);
            var root = document.RootElement;
            switch (root.GetProperty("type").GetString())
            {
                case "snapshot":
                    foreach (var one in root.GetProperty("messages").EnumerateArray())
                    {
                        take(Value(root, one, isPast: true));
                    }

                    break;
                case "message":
                    take(Value(root, root, isPast: false));
                    break;
                case "removed":
                    removed(root.GetProperty("channel").GetString() ?? "");
                    break;
                case "gap":
                    skipped(root.GetProperty("dropped").GetInt64());
                    break;
                case "paused":
                    skipped(1);
                    break;
                default:
                    break;
            }
        }
        catch (Exception exception)
            when (exception is JsonException or KeyNotFoundException or InvalidOperationException or FormatException)
        {
            throw new InvalidDataException("it has sent what is no message", exception);
        }
    }

    private static FeedValue Value(JsonElement root, JsonElement one, bool isPast) => new(
        root.GetProperty("channel").GetString() ?? "", one.GetProperty("key").GetString() ?? "", one.GetProperty("data"), isPast);
}

/// <summary>A value of a channel.</summary>
/// <param name="Channel">The channel.</param>
/// <param name="Key">The key.</param>
/// <param name="Data">The value, as long as the message is read.</param>
/// <param name="IsPast">Whether it is from before the subscription.</param>
internal readonly record struct FeedValue(string Channel, string Key, JsonElement Data, bool IsPast)
{
    /// <summary>A copy of the value's bytes.</summary>
    public byte[] Bytes() => JsonMarshal.GetRawUtf8Value(Data).ToArray();
}
