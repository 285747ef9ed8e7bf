using System.Buffers.Binary;
using System.Text;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// Frames as a server sends them (RFC 6455 section 5.2): final, unmasked, header and payload in one array, so that one message is made once
/// for all its receivers. Stateless.
/// </summary>
internal static class WebSocketFrame
{
    internal const byte Text = 1;
    internal const byte Close = 8;
    internal const byte Ping = 9;
    internal const byte Pong = 10;

    private const byte Final = 0x80;

    /// <summary>A text frame into whose array the caller writes the payload after the header.</summary>
    /// <param name="length">Length of the payload, bytes.</param>
    /// <param name="payloadAt">Where the payload begins.</param>
    internal static byte[] AllocateText(int length, out int payloadAt)
    {
        payloadAt = length < 126 ? 2 : length <= ushort.MaxValue ? 4 : 10;
        byte[] frame = new byte[payloadAt + length];
        frame[0] = Final | Text;
        if (payloadAt == 2)
        {
            frame[1] = (byte)length;
        }
        else if (payloadAt == 4)
        {
            frame[1] = 126;
            BinaryPrimitives.WriteUInt16BigEndian(frame.AsSpan(2), (ushort)length);
        }
        else
        {
            frame[1] = 127;
            BinaryPrimitives.WriteInt64BigEndian(frame.AsSpan(2), length);
        }

        return frame;
    }

    /// <summary>A text frame.</summary>
    internal static byte[] FromText(ReadOnlySpan<byte> utf8)
    {
        byte[] frame = AllocateText(utf8.Length, out int at);
        utf8.CopyTo(frame.AsSpan(at));
        return frame;
    }

    /// <summary>A control frame; its payload is cut to the allowed 125 bytes.</summary>
    internal static byte[] Control(byte opcode, ReadOnlySpan<byte> payload)
    {
        payload = payload[..Math.Min(payload.Length, 125)];
        byte[] frame = [(byte)(Final | opcode), (byte)payload.Length, .. payload];
        return frame;
    }

    /// <summary>A close frame with its status (section 7.4.1) and a reason in ASCII.</summary>
    internal static byte[] CloseWith(ushort status, string reason)
    {
        Span<byte> payload = stackalloc byte[125];
        BinaryPrimitives.WriteUInt16BigEndian(payload, status);
        int length = Encoding.ASCII.GetBytes(reason.AsSpan(0, Math.Min(reason.Length, 123)), payload[2..]);
        return Control(Close, payload[..(2 + length)]);
    }
}
