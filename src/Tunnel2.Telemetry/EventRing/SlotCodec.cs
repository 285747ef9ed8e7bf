using System.Numerics;
using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.Records;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Copies payloads into and out of slots, with the checksum taken from the very words that are stored. A word at a time: the
/// checksum's latency (3 cycles a word) covers the copy. Stateless.
/// </summary>
internal static unsafe class SlotCodec
{
    /// <summary>Length, type and checksum as they lie in the slot.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Meta(int length, ushort type) => (ushort)length | ((ulong)type << 16);

    /// <summary>Copies <paramref name="payload"/> into the slot and returns the finished meta word.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong CopyIn(byte* slot, ref byte payload, int length, ushort type, long sequence, bool checksum)
    {
        ulong meta = Meta(length, type);
        byte* destination = slot + SlotHeaderSize;
        if (!checksum)
        {
            Unsafe.CopyBlockUnaligned(ref *destination, ref payload, (uint)length);
            return meta;
        }

        uint crc = Start(sequence, meta);
        int i = 0;
        for (; i + 8 <= length; i += 8)
        {
            ulong word = Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref payload, i));
            *(ulong*)(destination + i) = word;
            crc = BitOperations.Crc32C(crc, word);
        }

        if (i < length)
        {
            ulong word = Tail(ref Unsafe.AddByteOffset(ref payload, i), length - i);
            *(ulong*)(destination + i) = word;
            crc = BitOperations.Crc32C(crc, word);
        }

        return meta | ((ulong)~crc << 32);
    }

    /// <summary>Meta word of a payload that was written straight into the slot; zeroes the padding.</summary>
    internal static ulong Seal(byte* slot, int length, ushort type, long sequence, bool checksum)
    {
        ulong meta = Meta(length, type);
        if (!checksum)
        {
            return meta;
        }

        byte* payload = slot + SlotHeaderSize;
        for (int pad = length; (pad & 7) != 0; pad++)
        {
            payload[pad] = 0;
        }

        uint crc = Start(sequence, meta);
        for (int i = 0; i < length; i += 8)
        {
            crc = BitOperations.Crc32C(crc, *(ulong*)(payload + i));
        }

        return meta | ((ulong)~crc << 32);
    }

    /// <summary>
    /// Copies the payload out, rounded up to whole words (the destination has room for the longest payload), and returns whether the
    /// checksum of what was copied is the slot's.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool CopyOut(byte* slot, ref byte destination, int length, ulong meta, long sequence, bool checksum)
    {
        byte* payload = slot + SlotHeaderSize;
        if (!checksum)
        {
            Unsafe.CopyBlockUnaligned(ref destination, ref *payload, (uint)length);
            return true;
        }

        uint crc = Start(sequence, (uint)meta);
        for (int i = 0; i < length; i += 8)
        {
            ulong word = *(ulong*)(payload + i);
            Unsafe.WriteUnaligned(ref Unsafe.AddByteOffset(ref destination, i), word);
            crc = BitOperations.Crc32C(crc, word);
        }

        return ~crc == (uint)(meta >> 32);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint Start(long sequence, ulong meta) =>
        BitOperations.Crc32C(BitOperations.Crc32C(Crc32C.Seed, (ulong)sequence), meta);

    private static ulong Tail(ref byte start, int count)
    {
        ulong word = 0;
        for (int i = count - 1; i >= 0; i--)
        {
            word = (word << 8) | Unsafe.AddByteOffset(ref start, i);
        }

        return word;
    }
}
