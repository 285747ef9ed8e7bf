using System.Buffers.Binary;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// Frames of the relay, little-endian: length of the body (4), kind (1), zero (3), CRC-32C of these eight bytes and the body (4), body.
/// Stateless; writes into and reads from the caller's spans.
/// </summary>
internal static class RelayFrame
{
    internal const uint Magic = 0x5245_3254; // "T2ER"
    internal const ushort Version = 1;
    internal const int HeaderLength = 12;
    internal const int HelloLength = 24;
    internal const int WelcomeLength = 24;
    internal const int RecordsHeaderLength = 16;

    /// <summary>The longest token in a hello, bytes.</summary>
    internal const int MaxToken = 4096;

    /// <summary>A longer body is refused after its header.</summary>
    internal const int MaxBody = 256 * 1024;

    /// <summary>Writes the header of a frame whose body is already in place; returns the frame's length.</summary>
    internal static int Finish(Span<byte> frame, RelayFrameKind kind, int bodyLength)
    {
        BinaryPrimitives.WriteInt32LittleEndian(frame, bodyLength);
        BinaryPrimitives.WriteInt32LittleEndian(frame[4..], (byte)kind);
        uint crc = Crc32C.Append(Crc32C.Append(Crc32C.Seed, frame[..8]), frame.Slice(HeaderLength, bodyLength));
        BinaryPrimitives.WriteUInt32LittleEndian(frame[8..], ~crc);
        return HeaderLength + bodyLength;
    }

    /// <summary>
    /// Looks for a whole frame at the start of <paramref name="data"/>. Returns its length, 0 when more bytes are needed, or −1 when the
    /// bytes cannot be a frame.
    /// </summary>
    internal static int TryRead(ReadOnlySpan<byte> data, out RelayFrameKind kind, out ReadOnlySpan<byte> body)
    {
        kind = default;
        body = default;
        if (data.Length < HeaderLength)
        {
            return 0;
        }

        int length = BinaryPrimitives.ReadInt32LittleEndian(data);
        if (length is < 0 or > MaxBody)
        {
            return -1;
        }

        if (data.Length < HeaderLength + length)
        {
            return 0;
        }

        body = data.Slice(HeaderLength, length);
        kind = (RelayFrameKind)data[4];
        uint crc = Crc32C.Append(Crc32C.Append(Crc32C.Seed, data[..8]), body);
        return ~crc == BinaryPrimitives.ReadUInt32LittleEndian(data[8..]) ? HeaderLength + length : -1;
    }

    internal static int WriteHello(Span<byte> frame, ulong ringId, long from, ReadOnlySpan<byte> token = default)
    {
        Span<byte> body = frame[HeaderLength..];
        BinaryPrimitives.WriteUInt32LittleEndian(body, Magic);
        BinaryPrimitives.WriteUInt32LittleEndian(body[4..], Version);
        BinaryPrimitives.WriteUInt64LittleEndian(body[8..], ringId);
        BinaryPrimitives.WriteInt64LittleEndian(body[16..], from);
        token.CopyTo(body[HelloLength..]);
        return Finish(frame, RelayFrameKind.Hello, HelloLength + token.Length);
    }

    internal static RelayStatus ReadHello(
        RelayFrameKind kind, ReadOnlySpan<byte> body, out ulong ringId, out long from, out ReadOnlySpan<byte> token)
    {
        ringId = 0;
        from = 0;
        token = default;
        if (kind != RelayFrameKind.Hello || body.Length < 8 || BinaryPrimitives.ReadUInt32LittleEndian(body) != Magic)
        {
            return RelayStatus.BadHello;
        }

        if (BinaryPrimitives.ReadUInt16LittleEndian(body[4..]) != Version)
        {
            return RelayStatus.UnsupportedVersion;
        }

        if (body.Length is < HelloLength or > HelloLength + MaxToken)
        {
            return RelayStatus.BadHello;
        }

        token = body[HelloLength..];
        ringId = BinaryPrimitives.ReadUInt64LittleEndian(body[8..]);
        from = BinaryPrimitives.ReadInt64LittleEndian(body[16..]);
        return from >= EventRingReaderOptions.FromOldest ? RelayStatus.Accepted : RelayStatus.BadHello;
    }

    internal static int WriteWelcome(Span<byte> frame, RelayStatus status, ulong ringId, long next)
    {
        Span<byte> body = frame[HeaderLength..];
        BinaryPrimitives.WriteUInt16LittleEndian(body, (ushort)status);
        BinaryPrimitives.WriteUInt16LittleEndian(body[2..], Version);
        BinaryPrimitives.WriteUInt32LittleEndian(body[4..], 0);
        BinaryPrimitives.WriteUInt64LittleEndian(body[8..], ringId);
        BinaryPrimitives.WriteInt64LittleEndian(body[16..], next);
        return Finish(frame, RelayFrameKind.Welcome, WelcomeLength);
    }

    internal static int WriteGap(Span<byte> frame, in RingGap gap)
    {
        Span<byte> body = frame[HeaderLength..];
        BinaryPrimitives.WriteInt64LittleEndian(body, gap.First);
        BinaryPrimitives.WriteInt64LittleEndian(body[8..], gap.Count);
        body[16] = (byte)gap.Reason;
        return Finish(frame, RelayFrameKind.Gap, 17);
    }

    internal static int WriteNumbers(Span<byte> frame, RelayFrameKind kind, long first, long second)
    {
        Span<byte> body = frame[HeaderLength..];
        BinaryPrimitives.WriteInt64LittleEndian(body, first);
        BinaryPrimitives.WriteInt64LittleEndian(body[8..], second);
        return Finish(frame, kind, 16);
    }

    /// <summary>How many bytes <see cref="WriteRecords"/> needs at most for this batch.</summary>
    internal static int RecordsBound(RingBatch batch) => HeaderLength + RecordsHeaderLength + batch.Length + (4 * batch.Count);

    /// <summary>Writes the first <paramref name="count"/> records of the batch as one frame.</summary>
    internal static int WriteRecords(Span<byte> frame, RingBatch batch, int count)
    {
        ReadOnlySpan<RingEntry> entries = batch.Entries[..count];
        BinaryPrimitives.WriteInt64LittleEndian(frame[HeaderLength..], entries[0].Sequence);
        BinaryPrimitives.WriteInt64LittleEndian(frame[(HeaderLength + 8)..], count);
        int at = HeaderLength + RecordsHeaderLength;
        foreach (ref readonly RingEntry entry in entries)
        {
            BinaryPrimitives.WriteUInt32LittleEndian(frame[at..], entry.Length | ((uint)entry.Type << 16));
            batch.Payload(entry).CopyTo(frame[(at + 4)..]);
            at += 4 + entry.Length;
        }

        return Finish(frame, RelayFrameKind.Records, at - HeaderLength);
    }
}
