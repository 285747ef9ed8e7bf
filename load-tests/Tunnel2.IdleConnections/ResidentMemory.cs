using System.Globalization;

namespace Tunnel2.IdleConnections;

/// <summary>What processes hold in memory, as the kernel counts it.</summary>
internal static class ResidentMemory
{
    /// <summary>Reads <c>VmRSS</c> of each process.</summary>
    /// <returns>Kilobytes each, 0 for one that is gone.</returns>
    public static long[] Read(int[] pids) => [.. pids.Select(Read)];

    private static long Read(int pid)
    {
        try
        {
            var line = File.ReadLines($"/proc/{pid}/status").First(line => line.StartsWith("VmRSS:", StringComparison.Ordinal));
            return long.Parse(line.AsSpan(6, line.Length - 6 - 2).Trim(), CultureInfo.InvariantCulture);
        }
        catch (Exception exception) when (exception is IOException or InvalidOperationException)
        {
            return 0;
        }
    }
}
