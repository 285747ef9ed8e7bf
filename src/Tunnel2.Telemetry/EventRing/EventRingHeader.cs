using System.Buffers.Binary;
using System.Security.Cryptography;
using Tunnel2.Telemetry.Records;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>The fixed fields of a ring's header page: written once at creation, validated before the file is mapped.</summary>
internal readonly record struct EventRingHeader(
    int SlotSize, int Capacity, int Consumers, EventRingPolicy Policy, bool Checksum, ulong RingId)
{
    /// <summary>Writes the fixed fields with a new random ring id into <paramref name="page"/>.</summary>
    internal static void Write(Span<byte> page, EventRingOptions options, long createdUnixMilliseconds)
    {
        BinaryPrimitives.WriteUInt64LittleEndian(page[MagicOffset..], Magic);
        BinaryPrimitives.WriteInt32LittleEndian(page[VersionOffset..], FormatVersion);
        BinaryPrimitives.WriteInt32LittleEndian(page[SlotSizeOffset..], options.SlotSize);
        BinaryPrimitives.WriteInt32LittleEndian(page[CapacityOffset..], options.Capacity);
        BinaryPrimitives.WriteInt32LittleEndian(page[ConsumersOffset..], options.Consumers);
        BinaryPrimitives.WriteInt32LittleEndian(page[PolicyOffset..], (int)options.Policy);
        BinaryPrimitives.WriteInt32LittleEndian(page[FlagsOffset..], options.Checksum ? ChecksumFlag : 0);
        RandomNumberGenerator.Fill(page.Slice(RingIdOffset, 8));
        page[RingIdOffset] |= 1; // 0 means "unknown" in the relay's hello.
        BinaryPrimitives.WriteInt64LittleEndian(page[CreatedOffset..], createdUnixMilliseconds);
        BinaryPrimitives.WriteUInt32LittleEndian(page[HeaderChecksumOffset..], Crc32C.Compute(page[..FixedHeaderLength]));
    }

    /// <summary>Validates the header page of a file of <paramref name="fileLength"/> bytes.</summary>
    internal static EventRingOpenError Read(ReadOnlySpan<byte> page, long fileLength, out EventRingHeader header)
    {
        header = default;
        if (!BitConverter.IsLittleEndian)
        {
            return EventRingOpenError.UnsupportedPlatform;
        }

        if (page.Length < PageSize)
        {
            return EventRingOpenError.TooShort;
        }

        if (BinaryPrimitives.ReadUInt64LittleEndian(page[MagicOffset..]) != Magic)
        {
            return EventRingOpenError.BadMagic;
        }

        if (BinaryPrimitives.ReadInt32LittleEndian(page[VersionOffset..]) != FormatVersion)
        {
            return EventRingOpenError.UnsupportedVersion;
        }

        if (BinaryPrimitives.ReadUInt32LittleEndian(page[HeaderChecksumOffset..]) != Crc32C.Compute(page[..FixedHeaderLength]))
        {
            return EventRingOpenError.CorruptHeader;
        }

        var options = new EventRingOptions
        {
            SlotSize = BinaryPrimitives.ReadInt32LittleEndian(page[SlotSizeOffset..]),
            Capacity = BinaryPrimitives.ReadInt32LittleEndian(page[CapacityOffset..]),
            Consumers = BinaryPrimitives.ReadInt32LittleEndian(page[ConsumersOffset..]),
            Policy = (EventRingPolicy)BinaryPrimitives.ReadInt32LittleEndian(page[PolicyOffset..]),
        };
        int flags = BinaryPrimitives.ReadInt32LittleEndian(page[FlagsOffset..]);
        if (options.Validate() is not null || (flags & ~ChecksumFlag) != 0)
        {
            return EventRingOpenError.BadGeometry;
        }

        if (fileLength < FileLength(options.Consumers, options.Capacity, options.SlotSize))
        {
            return EventRingOpenError.Truncated;
        }

        header = new EventRingHeader(options.SlotSize, options.Capacity, options.Consumers, options.Policy, (flags & ChecksumFlag) != 0,
            BinaryPrimitives.ReadUInt64LittleEndian(page[RingIdOffset..]));
        return EventRingOpenError.None;
    }
}
