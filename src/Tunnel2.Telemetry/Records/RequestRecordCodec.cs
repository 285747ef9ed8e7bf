using System.Buffers.Binary;

namespace Tunnel2.Telemetry.Records;

/// <summary>
/// Binary layout of a <see cref="RequestRecord"/>, little-endian, version 1, or 2 where it ends with the name of a node:
/// <code>
///  0 version(1) flags(1) method(1) session name length(1) status(2) error code(2)
///  8 started, unix µs (8)
/// 16 queue µs(4) first byte µs(4) body µs(4) total µs(4)
/// 32 bytes in (8)        40 bytes out (8)
/// 48 session id (8)      56 stream id (4)   60 uplink id (2)   62 target length (2)
/// 64 session name bytes, target bytes; in version 2 the bytes of the other node at which it failed, to the end
/// </code>
/// Stateless, safe on any thread, allocates nothing.
/// </summary>
internal static class RequestRecordCodec
{
    internal const byte Version = 1;

    /// <summary>The version of a record that ends with the name of a node.</summary>
    internal const byte VersionWithNode = 2;

    /// <summary>Longest name of a node, bytes.</summary>
    internal const int MaxNodeLength = 32;

    /// <summary>Bytes before the session name.</summary>
    internal const int FixedLength = 64;

    /// <summary>Longest session name, bytes.</summary>
    internal const int MaxSessionNameLength = 50;

    /// <summary>2000-01-01 in unix microseconds.</summary>
    internal const long MinTimestamp = 946_684_800_000_000;

    /// <summary>2200-01-01 in unix microseconds.</summary>
    internal const long MaxTimestamp = 7_258_118_400_000_000;

    /// <summary>
    /// Writes <paramref name="record"/> into <paramref name="destination"/>, which needs room for the fixed part and the session name. The
    /// target is cut to the rest and then marked with <see cref="RequestFlags.TargetTruncated"/>.
    /// </summary>
    /// <returns>Bytes written; 0 when the destination is too small or a name is too long, or that of the session empty.</returns>
    internal static int Encode(Span<byte> destination, in RequestRecord record)
    {
        ReadOnlySpan<byte> name = record.SessionName;
        ReadOnlySpan<byte> node = record.FailedAt;
        int room = destination.Length - FixedLength - name.Length - node.Length;
        if (name.IsEmpty || name.Length > MaxSessionNameLength || node.Length > MaxNodeLength || room < 0)
        {
            return 0;
        }

        ReadOnlySpan<byte> target = record.Target;
        RequestFlags flags = record.Flags;
        if (target.Length > Math.Min(room, ushort.MaxValue))
        {
            target = target[..Math.Min(room, ushort.MaxValue)];
            flags |= RequestFlags.TargetTruncated;
        }

        destination[0] = node.IsEmpty ? Version : VersionWithNode;
        destination[1] = (byte)flags;
        destination[2] = (byte)record.Method;
        destination[3] = (byte)name.Length;
        BinaryPrimitives.WriteUInt16LittleEndian(destination[4..], record.Status);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[6..], record.ErrorCode);
        BinaryPrimitives.WriteInt64LittleEndian(destination[8..], record.StartedUnixMicroseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[16..], record.QueueMicroseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[20..], record.FirstByteMicroseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[24..], record.BodyMicroseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[28..], record.TotalMicroseconds);
        BinaryPrimitives.WriteUInt64LittleEndian(destination[32..], record.BytesIn);
        BinaryPrimitives.WriteUInt64LittleEndian(destination[40..], record.BytesOut);
        BinaryPrimitives.WriteUInt64LittleEndian(destination[48..], record.SessionId);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[56..], record.StreamId);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[60..], record.UplinkId);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[62..], (ushort)target.Length);
        name.CopyTo(destination[FixedLength..]);
        target.CopyTo(destination[(FixedLength + name.Length)..]);
        node.CopyTo(destination[(FixedLength + name.Length + target.Length)..]);
        return FixedLength + name.Length + target.Length + node.Length;
    }

    /// <summary>Reads one record; with any result except <see cref="RecordDecodeStatus.Ok"/>, <paramref name="record"/> is empty.</summary>
    internal static RecordDecodeStatus Decode(ReadOnlySpan<byte> source, out RequestRecord record)
    {
        record = default;
        if (source.Length < FixedLength)
        {
            return RecordDecodeStatus.TooShort;
        }

        bool hasNode = source[0] == VersionWithNode;
        if (source[0] != Version && !hasNode)
        {
            return RecordDecodeStatus.UnknownVersion;
        }

        int nameLength = source[3];
        int targetLength = BinaryPrimitives.ReadUInt16LittleEndian(source[62..]);
        int nodeLength = source.Length - FixedLength - nameLength - targetLength;
        if (nameLength > MaxSessionNameLength || (hasNode ? nodeLength is < 1 or > MaxNodeLength : nodeLength != 0))
        {
            return RecordDecodeStatus.BadLengths;
        }

        if (nameLength == 0)
        {
            return RecordDecodeStatus.NoSession;
        }

        long started = BinaryPrimitives.ReadInt64LittleEndian(source[8..]);
        if (started is < MinTimestamp or > MaxTimestamp)
        {
            return RecordDecodeStatus.BadTimestamp;
        }

        record = new RequestRecord
        {
            Flags = (RequestFlags)source[1],
            Method = (RequestMethod)source[2],
            Status = BinaryPrimitives.ReadUInt16LittleEndian(source[4..]),
            ErrorCode = BinaryPrimitives.ReadUInt16LittleEndian(source[6..]),
            StartedUnixMicroseconds = started,
            QueueMicroseconds = BinaryPrimitives.ReadUInt32LittleEndian(source[16..]),
            FirstByteMicroseconds = BinaryPrimitives.ReadUInt32LittleEndian(source[20..]),
            BodyMicroseconds = BinaryPrimitives.ReadUInt32LittleEndian(source[24..]),
            TotalMicroseconds = BinaryPrimitives.ReadUInt32LittleEndian(source[28..]),
            BytesIn = BinaryPrimitives.ReadUInt64LittleEndian(source[32..]),
            BytesOut = BinaryPrimitives.ReadUInt64LittleEndian(source[40..]),
            SessionId = BinaryPrimitives.ReadUInt64LittleEndian(source[48..]),
            StreamId = BinaryPrimitives.ReadUInt32LittleEndian(source[56..]),
            UplinkId = BinaryPrimitives.ReadUInt16LittleEndian(source[60..]),
            SessionName = source.Slice(FixedLength, nameLength),
            Target = source.Slice(FixedLength + nameLength, targetLength),
            FailedAt = source[(FixedLength + nameLength + targetLength)..],
        };
        return RecordDecodeStatus.Ok;
    }
}
