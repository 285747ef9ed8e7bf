using System.Diagnostics;
using System.Globalization;
using System.Numerics;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.LiveBenchmarks.Records;

/// <summary>The relay's checksum over one frame: three lanes beside one register, alternating in one run.</summary>
internal static class ChecksumRace
{
    private const int Frame = 110_000;
    private const int Times = 200;

    internal static int Run()
    {
        byte[] data = new byte[Frame];
        new Random(1).NextBytes(data);
        double one = double.MaxValue;
        double three = double.MaxValue;
        uint expected = 0;
        uint sum = 0;
        for (int round = 0; round < 200; round++)
        {
            long start = Stopwatch.GetTimestamp();
            for (int i = 0; i < Times; i++)
            {
                expected = OneRegister(data);
            }

            long middle = Stopwatch.GetTimestamp();
            for (int i = 0; i < Times; i++)
            {
                sum = Crc32C.Compute(data);
            }

            three = Math.Min(three, Stopwatch.GetElapsedTime(middle).TotalNanoseconds / Times);
            one = Math.Min(one, Stopwatch.GetElapsedTime(start, middle).TotalNanoseconds / Times);
        }

        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{Frame} bytes: one register {one / 1000:0.0} µs ({Frame / one:0.0} GB/s), three lanes {three / 1000:0.0} µs "
                + $"({Frame / three:0.0} GB/s), x{one / three:0.00}"));
        return sum == expected ? 0 : 1;
    }

    private static uint OneRegister(ReadOnlySpan<byte> data)
    {
        uint register = Crc32C.Seed;
        foreach (ulong word in MemoryMarshal.Cast<byte, ulong>(data))
        {
            register = BitOperations.Crc32C(register, word);
        }

        return ~register;
    }
}
