using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Tunnel2.Telemetry.Records;

/// <summary>
/// CRC-32C (Castagnoli, RFC 3720 section 12.1: reflected polynomial 0x82F63B78, initial value and final XOR 0xFFFFFFFF).
/// <see cref="BitOperations"/> maps each step to the SSE4.2 or Arm CRC instruction, or to a table where the processor has neither.
/// Stateless, safe on any thread.
/// </summary>
internal static class Crc32C
{
    /// <summary>The register's value before the first byte.</summary>
    internal const uint Seed = 0xFFFFFFFF;

    /// <summary>The checksum of <paramref name="data"/>.</summary>
    internal static uint Compute(ReadOnlySpan<byte> data) => ~Append(Seed, data);

    /// <summary>Feeds <paramref name="data"/> to the running register <paramref name="register"/> (not yet inverted).</summary>
    internal static uint Append(uint register, ReadOnlySpan<byte> data)
    {
        ref byte start = ref MemoryMarshal.GetReference(data);
        nuint length = (uint)data.Length;
        nuint i = 0;
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
}
