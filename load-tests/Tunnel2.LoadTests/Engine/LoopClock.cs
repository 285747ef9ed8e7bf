using System.Diagnostics;

namespace Tunnel2.LoadTests.Engine;

/// <summary>The generator's time: nanoseconds of the monotonic clock.</summary>
internal static class LoopClock
{
    /// <summary>A second.</summary>
    public const long Second = 1_000_000_000;

    /// <summary>A millisecond.</summary>
    public const long Millisecond = 1_000_000;

    private static readonly double _scale = 1e9 / Stopwatch.Frequency;

    /// <summary>Now.</summary>
    public static long Now => Stopwatch.Frequency == Second ? Stopwatch.GetTimestamp() : (long)(Stopwatch.GetTimestamp() * _scale);
}
