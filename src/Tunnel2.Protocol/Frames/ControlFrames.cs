using System.Buffers.Binary;
using System.Text;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Protocol.Frames;

/// <summary>Writes and reads the small frames as a whole: RST, WINDOW, PING, SERVICE, GOAWAY. Stateless; safe from any thread.</summary>
public static class ControlFrames
{
    /// <summary>Bytes of a RST frame, header included.</summary>
    public const int RstSize = FrameHeader.Size + ProtocolLimits.RstLength;

    /// <summary>Bytes of a WINDOW frame, header included.</summary>
    public const int WindowSize = FrameHeader.Size + ProtocolLimits.WindowLength;

    /// <summary>Bytes of a PING frame, header included.</summary>
    public const int PingSize = FrameHeader.Size + ProtocolLimits.PingLength;

    /// <summary>Bytes of a SERVICE frame, header included.</summary>
    public const int ServiceSize = FrameHeader.Size + ProtocolLimits.ServiceLength;

    private const int GoAwayFixedLength = 3;

    /// <summary>Writes a RST frame.</summary>
    /// <param name="destination">At least <see cref="RstSize"/> bytes.</param>
    /// <param name="stream">The stream that ends.</param>
    /// <param name="reason">Why.</param>
    /// <param name="detail">More about the reason, for people.</param>
    /// <returns>Bytes written.</returns>
    public static int WriteRst(
        Span<byte> destination, StreamId stream, StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None)
    {
        new FrameHeader(ProtocolLimits.RstLength, FrameType.Rst, FrameFlags.None, stream).Write(destination);
        BinaryPrimitives.WriteUInt16BigEndian(destination[FrameHeader.Size..], (ushort)reason);
        BinaryPrimitives.WriteUInt16BigEndian(destination[(FrameHeader.Size + 2)..], (ushort)detail);
        return RstSize;
    }

    /// <summary>Reads a RST payload. An unknown reason or detail is returned as it is.</summary>
    /// <param name="payload">The payload; its length was checked with the header.</param>
    /// <param name="detail">More about the reason.</param>
    public static StreamResetReason ReadRst(ReadOnlySpan<byte> payload, out StreamResetDetail detail)
    {
        detail = (StreamResetDetail)BinaryPrimitives.ReadUInt16BigEndian(payload[2..]);
        return (StreamResetReason)BinaryPrimitives.ReadUInt16BigEndian(payload);
    }

    /// <summary>Writes a WINDOW frame.</summary>
    /// <param name="destination">At least <see cref="WindowSize"/> bytes.</param>
    /// <param name="stream">The stream, or <see cref="StreamId.Uplink"/>.</param>
    /// <param name="increment">Bytes of further credit, 1…2^31 − 1.</param>
    /// <returns>Bytes written.</returns>
    public static int WriteWindow(Span<byte> destination, StreamId stream, int increment)
    {
        new FrameHeader(ProtocolLimits.WindowLength, FrameType.Window, FrameFlags.None, stream).Write(destination);
        BinaryPrimitives.WriteInt32BigEndian(destination[FrameHeader.Size..], increment);
        return WindowSize;
    }

    /// <summary>Reads a WINDOW payload.</summary>
    /// <param name="payload">The payload; its length was checked with the header.</param>
    /// <param name="increment">Bytes of further credit.</param>
    /// <returns><see cref="ProtocolError.InvalidWindowIncrement"/> for 0 and for more than 2^31 − 1.</returns>
    public static ProtocolError TryReadWindow(ReadOnlySpan<byte> payload, out int increment)
    {
        increment = BinaryPrimitives.ReadInt32BigEndian(payload);
        return increment > 0 ? ProtocolError.None : ProtocolError.InvalidWindowIncrement;
    }

    /// <summary>Writes a PING frame or its answer.</summary>
    /// <param name="destination">At least <see cref="PingSize"/> bytes.</param>
    /// <param name="opaque">The eight bytes that the answer repeats.</param>
    /// <param name="ack">Whether this is the answer.</param>
    /// <returns>Bytes written.</returns>
    public static int WritePing(Span<byte> destination, ulong opaque, bool ack)
    {
        new FrameHeader(
            ProtocolLimits.PingLength, FrameType.Ping, ack ? FrameFlags.Ack : FrameFlags.None, StreamId.Uplink).Write(destination);
        BinaryPrimitives.WriteUInt64BigEndian(destination[FrameHeader.Size..], opaque);
        return PingSize;
    }

    /// <summary>Reads a PING payload.</summary>
    /// <param name="payload">The payload; its length was checked with the header.</param>
    public static ulong ReadPing(ReadOnlySpan<byte> payload) => BinaryPrimitives.ReadUInt64BigEndian(payload);

    /// <summary>Writes a SERVICE frame.</summary>
    /// <param name="destination">At least <see cref="ServiceSize"/> bytes.</param>
    /// <param name="state">How the service is.</param>
    /// <param name="counter">The number of this statement in the session; the highest counts.</param>
    /// <returns>Bytes written.</returns>
    public static int WriteService(Span<byte> destination, ServiceState state, uint counter)
    {
        new FrameHeader(ProtocolLimits.ServiceLength, FrameType.Service, FrameFlags.None, StreamId.Uplink).Write(destination);
        destination[FrameHeader.Size] = (byte)state;
        BinaryPrimitives.WriteUInt32BigEndian(destination[(FrameHeader.Size + 1)..], counter);
        return ServiceSize;
    }

    /// <summary>Reads a SERVICE payload. An unknown state is returned as it is.</summary>
    /// <param name="payload">The payload; its length was checked with the header.</param>
    /// <param name="counter">The number of this statement in the session.</param>
    public static ServiceState ReadService(ReadOnlySpan<byte> payload, out uint counter)
    {
        counter = BinaryPrimitives.ReadUInt32BigEndian(payload[1..]);
        return (ServiceState)payload[0];
    }

    /// <summary>Writes a GOAWAY frame; a text that does not fit is cut at a character.</summary>
    /// <param name="destination">At least <see cref="FrameHeader.Size"/> + <see cref="ProtocolLimits.MaxGoAwayLength"/> bytes.</param>
    /// <param name="phase">The step of the drain.</param>
    /// <param name="reason">Why the session ends.</param>
    /// <param name="text">A text for people at the other end; may be empty.</param>
    /// <returns>Bytes written.</returns>
    public static int WriteGoAway(Span<byte> destination, GoAwayPhase phase, SessionEndReason reason, string text)
    {
        var payload = destination.Slice(FrameHeader.Size, ProtocolLimits.MaxGoAwayLength);
        payload[0] = (byte)phase;
        BinaryPrimitives.WriteUInt16BigEndian(payload[1..], (ushort)reason);
        Encoding.UTF8.GetEncoder().Convert(text, payload[GoAwayFixedLength..], flush: true, out _, out var textLength, out _);
        var length = GoAwayFixedLength + textLength;
        new FrameHeader(length, FrameType.GoAway, FrameFlags.None, StreamId.Uplink).Write(destination);
        return FrameHeader.Size + length;
    }

    /// <summary>Reads a GOAWAY payload.</summary>
    /// <param name="payload">The payload.</param>
    /// <param name="phase">The step of the drain.</param>
    /// <param name="reason">Why the session ends; may be a value that this version does not know.</param>
    /// <param name="text">The peer's text for people, made safe to show.</param>
    /// <returns>An error when the payload is too short or the phase unknown.</returns>
    public static ProtocolError TryReadGoAway(
        ReadOnlySpan<byte> payload, out GoAwayPhase phase, out SessionEndReason reason, out string text)
    {
        phase = default;
        reason = default;
        text = "";
        if (payload.Length < GoAwayFixedLength)
        {
            return ProtocolError.FrameTooShort;
        }

        phase = (GoAwayPhase)payload[0];
        reason = (SessionEndReason)BinaryPrimitives.ReadUInt16BigEndian(payload[1..]);
        text = PlainText.Read(payload[GoAwayFixedLength..]);
        return phase is GoAwayPhase.Notice or GoAwayPhase.Final ? ProtocolError.None : ProtocolError.InvalidGoAway;
    }
}
