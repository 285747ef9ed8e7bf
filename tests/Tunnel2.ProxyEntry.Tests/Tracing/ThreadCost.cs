using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Tunnel2.ProxyEntry.Tests.Tracing;

/// <summary>What something costs a thread, by its processor time: what others do on the machine counts as little as can be.</summary>
/// <param name="Nanoseconds">Each time.</param>
/// <param name="Bytes">Allocated each time.</param>
internal readonly record struct ThreadCost(double Nanoseconds, long Bytes)
{
    private const int ThreadProcessorTime = 3; // CLOCK_THREAD_CPUTIME_ID of Linux
    private const int Times = 2000;

    // Of the thread's own time: the compiler's last tier comes in the first second or two, later where others keep it busy.
    private const long Settles = 2_000_000_000;
    private const long Counts = 1_000_000_000;

    /// <summary>
    /// Measures code that has settled, on a thread as those that serve requests: nothing of the test flows along with it. Takes three seconds of a
    /// processor.
    /// </summary>
    public static ThreadCost Measure(Action action)
    {
        var costs = new List<double>();
        var bytes = 0L;
        var thread = new Thread(() =>
        {
            var begun = Now();
            for (var elapsed = 0L; elapsed < Settles + Counts; elapsed = Now() - begun)
            {
                var allocated = GC.GetAllocatedBytesForCurrentThread();
                var started = Now();
                for (var i = 0; i < Times; i++)
                {
                    action();
                }

                var cost = (Now() - started) / (double)Times;
                bytes = (GC.GetAllocatedBytesForCurrentThread() - allocated) / Times;
                if (elapsed > Settles)
                {
                    costs.Add(cost);
                }
            }
        });
        thread.UnsafeStart();
        thread.Join();

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

        return clock_gettime(ThreadProcessorTime, out var time) == 0 ? (time.Seconds * 1_000_000_000) + time.Nanoseconds : throw new InvalidOperationException("There is no such clock.");
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
