using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Tunnel2.Telemetry.Records;

/// <summary>
/// CRC-32C (Castagnoli, RFC 3720 section 12.1: reflected polynomial 0x82F63B78, initial value and final XOR 0xFFFFFFFF).
/// <see cref="BitOperations"/> maps each step to the SSE4.2 or Arm CRC instruction, or to a table if the processor has neither.
/// Stateless, safe on any thread.
/// </summary>
internal static class Crc32C
{
    /// <summary>The register's value before the first byte.</summary>
    internal const uint Seed = 0xFFFFFFFF;

    /// <summary>The checksum of <paramref name="data"/>.</summary>
    internal static uint Compute(ReadOnlySpan<byte> data) => ~Append(Seed, data);

    /// <summary>Adds <paramref name="data"/> to the running register <paramref name="register"/> (not yet inverted).</summary>
    internal static uint Append(uint register, ReadOnlySpan<byte> data)
    {
        ref byte start = ref MemoryMarshal.GetReference(data);
        nuint length = (uint)data.Length;
        nuint i = length >= ThreeLanes.Block ? ThreeLanes.Append(ref register, ref start, length) : 0;
        for (; i + 8 <= length; i += 8)
        {
            register = BitOperations.Crc32C(register, Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref start, i)));
        }

        for (; i < length; i++)
        {
            register = BitOperations.Crc32C(register, Unsafe.AddByteOffset(ref start, i));
        }

        return register;
    }

    /// <summary>
    /// Processes long data in three lanes at a time. Each step of the instruction waits three cycles for the one before, but the processor
    /// can begin one every cycle. The register is linear in its input, so lanes that begin at zero can be combined: the bytes after a lane
    /// change its register as the same number of zero bytes would.
    /// </summary>
    private static class ThreeLanes
    {
        /// <summary>Bytes of three lanes.</summary>
        internal const int Block = 3 * Lane;

        private const int Lane = 1024;

        /// <summary>Tables that advance a register by a lane of zeros: four, one for each of its bytes.</summary>
        private static readonly uint[] _moved = MakeTables();

        /// <summary>Adds as many whole blocks as there are.</summary>
        /// <returns>How many bytes were added.</returns>
        internal static nuint Append(ref uint register, ref byte start, nuint length)
        {
            uint first = register;
            nuint done = 0;
            for (; done + Block <= length; done += Block)
            {
                uint second = 0;
                uint third = 0;
                ref byte lane = ref Unsafe.AddByteOffset(ref start, done);
                for (nuint i = 0; i < Lane; i += 8)
                {
                    first = BitOperations.Crc32C(first, Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref lane, i)));
                    second = BitOperations.Crc32C(second, Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref lane, i + Lane)));
                    third = BitOperations.Crc32C(third, Unsafe.ReadUnaligned<ulong>(ref Unsafe.AddByteOffset(ref lane, i + (2 * Lane))));
                }

                first = Move(Move(first) ^ second) ^ third;
            }

            register = first;
            return done;
        }

        private static uint Move(uint register) =>
            _moved[register & 0xFF]
            ^ _moved[0x100 + ((register >> 8) & 0xFF)]
            ^ _moved[0x200 + ((register >> 16) & 0xFF)]
            ^ _moved[0x300 + (register >> 24)];

        private static uint[] MakeTables()
        {
            uint[] tables = new uint[4 * 256];
            for (int bit = 0; bit < 32; bit++)
            {
                uint moved = 1u << bit;
                for (int i = 0; i < Lane; i += 8)
                {
                    moved = BitOperations.Crc32C(moved, 0UL);
                }

                for (int value = 0; value < 256; value++)
                {
                    tables[((bit >> 3) * 256) + value] ^= (value >> (bit & 7) & 1) != 0 ? moved : 0;
                }
            }

            return tables;
        }
    }
}
