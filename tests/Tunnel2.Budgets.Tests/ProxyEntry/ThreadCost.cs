using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Tunnel2.Budgets.Tests.ProxyEntry;

/// <summary>What something costs a thread, by its processor time: what others do on the machine counts as little as can be.</summary>
/// <param name="Nanoseconds">Each time.</param>
/// <param name="Bytes">Allocated each time.</param>
internal readonly record struct ThreadCost(double Nanoseconds, long Bytes)
{
    private const int ThreadProcessorTime = 3; // CLOCK_THREAD_CPUTIME_ID of Linux
    private const int Times = 2000;

    // A quarter of a second of the thread's own time. The compiler's last tier comes in the first second or two; much later where others
    // keep it busy.
    private const long Slice = 250_000_000;
    private const int Patience = 132;

    /// <summary>
    /// Measures on a thread as those that serve requests: nothing of the test flows along with it. Code that has not settled costs more
    /// than <paramref name="limit"/> at first; it has 33 seconds of a processor.
    /// </summary>
    /// <returns>The cost of the first slice within the limit, or of the last one.</returns>
    public static ThreadCost Measure(Action action, ThreadCost limit)
    {
        var cost = default(ThreadCost);
        var thread = new Thread(() =>
        {
            for (var slice = 0; slice <= Patience; slice++)
            {
                cost = MeasureFor(Slice, action);
                if (cost.Nanoseconds <= limit.Nanoseconds && cost.Bytes <= limit.Bytes)
                {
                    break;
                }
            }
        });
        thread.UnsafeStart();
        thread.Join();
        return cost;
    }

    private static ThreadCost MeasureFor(long duration, Action action)
    {
        var costs = new List<double>();
        var bytes = 0L;
        var begun = Now();
        while (Now() - begun < duration)
        {
            var allocated = GC.GetAllocatedBytesForCurrentThread();
            var started = Now();
            for (var i = 0; i < Times; i++)
            {
                action();
            }

            costs.Add((Now() - started) / (double)Times);
            bytes = (GC.GetAllocatedBytesForCurrentThread() - allocated) / Times;
        }

        // The best quarter begins where neighbours were not in the way.
        costs.Sort();
        return new ThreadCost(costs[costs.Count / 4], bytes);
    }

    private static long Now()
    {
        if (!OperatingSystem.IsLinux())
        {
            return (long)Stopwatch.GetElapsedTime(0).TotalNanoseconds;
        }

        return clock_gettime(ThreadProcessorTime, out var time) == 0
            ? (time.Seconds * 1_000_000_000) + time.Nanoseconds
            : throw new InvalidOperationException("There is no such clock.");
    }

    [DllImport("libc")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int clock_gettime(int clock, out Timespec time);

    private struct Timespec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }
}
