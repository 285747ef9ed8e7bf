using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;
using Tunnel2.Telemetry.Records;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Copies payloads into and out of slots, and computes the checksum from the same words that are stored. One word at a time, because the
/// checksum's latency (3 cycles a word) hides the copy. Stateless.
/// </summary>
internal static unsafe class SlotCodec
{
    /// <summary>Bytes of one round of the copy loops: few enough branches that the end of a 200-byte record is predicted.</summary>
    private const int Unrolled = 32;

    /// <summary>Length, type and checksum in the form of the slot.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Meta(int length, ushort type) => (ushort)length | ((ulong)type << 16);

    /// <summary>Copies <paramref name="payload"/> into the slot and returns the finished meta word.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong CopyIn(byte* slot, ref byte payload, int length, ushort type, long sequence, bool checksum)
    {
        if (checksum && length >= sizeof(ulong))
        {
            return CopyWordsIn(slot, ref payload, length, type, sequence);
        }

        ulong meta = Meta(length, type);
        byte* destination = slot + SlotHeaderSize;
        if (!checksum)
        {
            Unsafe.CopyBlockUnaligned(ref *destination, ref payload, (uint)length);
            return meta;
        }

        ulong crc = Start(sequence, meta);
        if (length > 0)
        {
            ulong word = ShortWord(ref payload, length);
            *(ulong*)destination = word;
            crc = Step(crc, word);
        }

        return meta | ((ulong)~(uint)crc << 32);
    }

    /// <summary>Like <see cref="CopyIn"/>, with a checksum, for a payload of at least one word. Calls no method.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong CopyWordsIn(byte* slot, ref byte payload, int length, ushort type, long sequence)
    {
        ulong meta = Meta(length, type);
        byte* destination = slot + SlotHeaderSize;
        ulong crc = Start(sequence, meta);
        nint i = 0;
        for (nint last = length - Unrolled; i <= last; i += Unrolled)
        {
            ulong a = Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref payload, i));
            ulong b = Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref payload, i + 8));
            ulong c = Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref payload, i + 16));
            ulong d = Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref payload, i + 24));
            *(ulong*)(destination + i) = a;
            *(ulong*)(destination + i + 8) = b;
            *(ulong*)(destination + i + 16) = c;
            *(ulong*)(destination + i + 24) = d;
            crc = Step(Step(Step(Step(crc, a), b), c), d);
        }

        for (nint last = length - 8; i <= last; i += 8)
        {
            ulong word = Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref payload, i));
            *(ulong*)(destination + i) = word;
            crc = Step(crc, word);
        }

        if (i < length)
        {
            // The last whole word of the payload, shifted so that only the remaining bytes are left, with zeros above them.
            ulong word = Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref payload, length - 8)) >> (int)((i + 8 - length) * 8);
            *(ulong*)(destination + i) = word;
            crc = Step(crc, word);
        }

        return meta | ((ulong)~(uint)crc << 32);
    }

    /// <summary>
    /// Copies the payload, rounded up to whole words (the destination has room for the longest payload). Returns whether the checksum of
    /// the copy is the slot's.
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

        ulong crc = Start(sequence, (uint)meta);
        nint i = 0;
        for (nint last = length - Unrolled; i <= last; i += Unrolled)
        {
            ulong a = *(ulong*)(payload + i);
            ulong b = *(ulong*)(payload + i + 8);
            ulong c = *(ulong*)(payload + i + 16);
            ulong d = *(ulong*)(payload + i + 24);
            Unsafe.WriteUnaligned(ref Unsafe.AddByteOffset(ref destination, i), a);
            Unsafe.WriteUnaligned(ref Unsafe.AddByteOffset(ref destination, i + 8), b);
            Unsafe.WriteUnaligned(ref Unsafe.AddByteOffset(ref destination, i + 16), c);
            Unsafe.WriteUnaligned(ref Unsafe.AddByteOffset(ref destination, i + 24), d);
            crc = Step(Step(Step(Step(crc, a), b), c), d);
        }

        for (; i < length; i += 8)
        {
            ulong word = *(ulong*)(payload + i);
            Unsafe.WriteUnaligned(ref Unsafe.AddByteOffset(ref destination, i), word);
            crc = Step(crc, word);
        }

        return ~(uint)crc == (uint)(meta >> 32);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Start(long sequence, ulong meta) => Step(Step(Crc32C.Seed, (ulong)sequence), meta);

    /// <summary>
    /// Adds one word to the checksum. The register stays 64 bits wide between steps, because narrowing it each time would add a cycle to
    /// the chain of dependent instructions.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Step(ulong register, ulong word) =>
        Sse42.X64.IsSupported ? Sse42.X64.Crc32(register, word) : BitOperations.Crc32C((uint)register, word);

    /// <summary>Fewer than eight bytes as a word, with zeros above them.</summary>
    private static ulong ShortWord(ref byte start, int count)
    {
        ulong word = 0;
        for (int i = count - 1; i >= 0; i--)
        {
            word = (word << 8) | Unsafe.AddByteOffset(ref start, i);
        }

        return word;
    }
}
