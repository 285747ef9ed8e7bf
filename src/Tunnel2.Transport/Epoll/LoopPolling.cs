using System.Diagnostics;
using System.Globalization;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// How long a loop asks before it sleeps, where short waits have earned it (<see cref="PollingBudget"/>). Environment:
/// <c>TUNNEL2_LOOP_POLL_MICROSECONDS</c>, 0–1,000; 0 is off (docs/decisions/0015-loops-ask-before-they-sleep.md).
/// </summary>
internal static class LoopPolling
{
    private const int DefaultMicroseconds = 100;
    private const int MaxMicroseconds = 1_000;

    /// <summary>Loops of the process that may ask at a time: half of the processors are for whoever is to answer.</summary>
    private static readonly int _maxPolling = Math.Max(1, Environment.ProcessorCount / 2);

    private static int _pollingNow;

    /// <summary>In ticks of <see cref="Stopwatch"/>.</summary>
    public static long PatienceTicks { get; } = Microseconds(Environment.GetEnvironmentVariable("TUNNEL2_LOOP_POLL_MICROSECONDS")) * Stopwatch.Frequency / 1_000_000;

    /// <summary>Whether one more loop may ask; then <see cref="End"/> must follow.</summary>
    public static bool TryBegin()
    {
        if (Interlocked.Increment(ref _pollingNow) <= _maxPolling)
        {
            return true;
        }

        End();
        return false;
    }

    /// <summary>The loop has something to do, or sleeps.</summary>
    public static void End() => Interlocked.Decrement(ref _pollingNow);

    /// <summary>What a setting means; anything that is no number in its range is the default.</summary>
    public static int Microseconds(string? setting) =>
        int.TryParse(setting, NumberStyles.None, CultureInfo.InvariantCulture, out var value) && value <= MaxMicroseconds ? value : DefaultMicroseconds;
}
