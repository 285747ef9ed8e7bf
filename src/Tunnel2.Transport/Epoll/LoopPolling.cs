using System.Diagnostics;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// How long a loop polls before it sleeps, if short waits have earned it (<see cref="PollingBudget"/>), and how many loops poll at a time
/// (docs/decisions/0015-loops-ask-before-they-sleep.md). Thread-safe.
/// </summary>
internal static class LoopPolling
{
    /// <summary>100 µs, in ticks of <see cref="Stopwatch"/>.</summary>
    public static readonly long Patience = Stopwatch.Frequency / 10_000;

    /// <summary>How many loops of the process may poll at a time: half of the processors are for the peers that answer.</summary>
    private static readonly int _maxPolling = Math.Max(1, Environment.ProcessorCount / 2);

    private static int _pollingNow;

    /// <summary>Whether one more loop may poll; if so, <see cref="End"/> must follow.</summary>
    public static bool TryBegin()
    {
        if (Interlocked.Increment(ref _pollingNow) <= _maxPolling)
        {
            return true;
        }

        End();
        return false;
    }

    /// <summary>The loop has work, or sleeps.</summary>
    public static void End() => Interlocked.Decrement(ref _pollingNow);
}
