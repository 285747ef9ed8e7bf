using System.Buffers;
using System.Collections.Immutable;
using System.Globalization;
using System.Text;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// A channel: the latest message of each of its keys, and the number of the last one. Publishing and taking a snapshot exclude each other,
/// so a receiver of a snapshot gets exactly the messages after it.
/// </summary>
internal sealed class HubChannel
{
    private readonly byte[] _prefix;

    internal HubChannel(string name)
    {
        Name = name;
        _prefix = Encoding.ASCII.GetBytes($"\"channel\":\"{name}\",");
    }

    internal string Name { get; }

    /// <summary>Taken before any client's lock, never with one held.</summary>
    internal Lock Gate { get; } = new();

    internal StripedMessageStore<HubMessage> Store { get; } = new(stripes: 1);

    /// <summary>The number of the last message.</summary>
    internal long SequenceUnsynchronized { get; set; }

    /// <summary>The frame of a message: <c>{"type":"message","channel":…,"key":…,"seq":…,"data":…}</c>.</summary>
    internal byte[] MessageFrame(string key, HubMessage message)
    {
        Span<byte> number = stackalloc byte[20];
        message.Sequence.TryFormat(number, out int digits, default, CultureInfo.InvariantCulture);
        int length = "{\"type\":\"message\",".Length + _prefix.Length + "\"key\":\"".Length + key.Length + "\",\"seq\":".Length + digits
            + ",\"data\":".Length + message.Data.Length + 1;
        byte[] frame = WebSocketFrame.AllocateText(length, out int at);
        Span<byte> rest = frame.AsSpan(at);
        Put(ref rest, "{\"type\":\"message\","u8);
        Put(ref rest, _prefix);
        Put(ref rest, "\"key\":\""u8);
        rest = rest[Encoding.ASCII.GetBytes(key, rest)..];
        Put(ref rest, "\",\"seq\":"u8);
        Put(ref rest, number[..digits]);
        Put(ref rest, ",\"data\":"u8);
        Put(ref rest, message.Data.Span);
        Put(ref rest, "}"u8);
        return frame;
    }

    /// <summary>
    /// The frame of a snapshot, the oldest first:
    /// <c>{"type":"snapshot","channel":…,"seq":…,"messages":[{"key":…,"seq":…,"data":…},…]}</c>.
    /// </summary>
    internal byte[] SnapshotFrameUnsynchronized()
    {
        ImmutableArray<KeyValuePair<string, HubMessage>> state = Store.GetState();
        var buffer = new ArrayBufferWriter<byte>(256);
        buffer.Write("{\"type\":\"snapshot\","u8);
        buffer.Write(_prefix);
        buffer.Write(
            Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"\"seq\":{SequenceUnsynchronized},\"messages\":[")));
        bool first = true;
        foreach ((string key, HubMessage message) in state.OrderBy(static pair => pair.Value.Sequence))
        {
            buffer.Write(Encoding.ASCII.GetBytes(string.Create(
                CultureInfo.InvariantCulture, $"{(first ? "" : ",")}{{\"key\":\"{key}\",\"seq\":{message.Sequence},\"data\":")));
            buffer.Write(message.Data.Span);
            buffer.Write("}"u8);
            first = false;
        }

        buffer.Write("]}"u8);
        return WebSocketFrame.FromText(buffer.WrittenSpan);
    }

    private static void Put(ref Span<byte> rest, scoped ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(rest);
        rest = rest[bytes.Length..];
    }
}
