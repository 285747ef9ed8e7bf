namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// The layout of the file. All fields are little-endian and naturally aligned; fields that different parties write are 128 bytes apart (a
/// cache line and its prefetched neighbour).
/// <code>
/// page 0      0 magic(8) version(4) slot size(4) capacity(4) consumers(4) policy(4) flags(4) ring id(8) created, unix ms(8)
///            48 CRC-32C of bytes 0..47 (4)
///            64 state(4)  68 producer epoch(4)
///           128 head: the next sequence number to be claimed (8)
///           256 blocking consumers(4)  260 consumer table version(4)
///           384 wait flag(4)  388 wake word(4)
/// page 1..    consumer table, 128 bytes an entry: state(8) cursor(8) beat(8) name(32)
/// page-aligned slots: sequence(8) length(2) type(2) CRC-32C(4) payload
/// </code>
/// A slot's sequence is 0 before its first use, n+1 once record n is committed, −(n+1) while its producer fills it.
/// The record's CRC covers sequence, length, type, four zero bytes, and the payload padded with zeros to a multiple of 8.
/// </summary>
internal static class EventRingLayout
{
    /// <summary>"T2RING\r\n" as a little-endian number; a program that converts line ends damages it visibly.</summary>
    internal const ulong Magic = 0x0A0D_474E_4952_3254;
    internal const int FormatVersion = 1;
    internal const int PageSize = 4096;
    internal const int FixedHeaderLength = 48;

    internal const int MagicOffset = 0;
    internal const int VersionOffset = 8;
    internal const int SlotSizeOffset = 12;
    internal const int CapacityOffset = 16;
    internal const int ConsumersOffset = 20;
    internal const int PolicyOffset = 24;
    internal const int FlagsOffset = 28;
    internal const int RingIdOffset = 32;
    internal const int CreatedOffset = 40;
    internal const int HeaderChecksumOffset = 48;
    internal const int StateOffset = 64;
    internal const int EpochOffset = 68;
    internal const int HeadOffset = 128;
    internal const int BlockingConsumersOffset = 256;
    internal const int TableVersionOffset = 260;
    internal const int WaitFlagOffset = 384;
    internal const int WakeWordOffset = 388;

    internal const int ChecksumFlag = 1;
    internal const int StateClosed = 1;

    internal const int ConsumerEntrySize = 128;
    internal const int ConsumerCursorOffset = 8;
    internal const int ConsumerBeatOffset = 16;
    internal const int ConsumerNameOffset = 24;
    internal const int ConsumerNameLength = 32;

    internal const int SlotHeaderSize = 16;
    internal const int SlotMetaOffset = 8;

    /// <summary>The offset of the first slot.</summary>
    internal static long SlotsOffset(int consumers) =>
        PageSize + (((((long)consumers * ConsumerEntrySize) + PageSize - 1) / PageSize) * PageSize);

    /// <summary>Length of the whole file in bytes.</summary>
    internal static long FileLength(int consumers, int capacity, int slotSize) => SlotsOffset(consumers) + ((long)capacity * slotSize);
}
