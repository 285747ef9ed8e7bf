using System.Diagnostics;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// How long a loop asks before it sleeps, where short waits have earned it (<see cref="PollingBudget"/>), and how many loops do so at a
/// time (docs/decisions/0015-loops-ask-before-they-sleep.md). Thread-safe.
/// </summary>
internal static class LoopPolling
{
    /// <summary>100 µs, in ticks of <see cref="Stopwatch"/>.</summary>
    public static readonly long Patience = Stopwatch.Frequency / 10_000;

    /// <summary>Loops of the process that may ask at a time: half of the processors are for those that answer.</summary>
    private static readonly int _maxPolling = Math.Max(1, Environment.ProcessorCount / 2);

    private static int _pollingNow;

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
}
