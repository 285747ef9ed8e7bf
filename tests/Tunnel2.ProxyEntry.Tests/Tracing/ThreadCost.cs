using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Tunnel2.ProxyEntry.Tests.Tracing;

/// <summary>What something costs a thread, by its processor time: what others do on the machine counts as little as can be.</summary>
/// <param name="Nanoseconds">Each time.</param>
/// <param name="Bytes">Allocated each time.</param>
internal readonly record struct ThreadCost(double Nanoseconds, long Bytes)
{
    private const int ThreadProcessorTime = 3; // CLOCK_THREAD_CPUTIME_ID of Linux
    private const int Windows = 100;
    private const int Times = 2000;

    /// <summary>Measures on a thread as those that serve requests: nothing of the test flows along with it.</summary>
    public static ThreadCost Measure(Action action)
    {
        var costs = new double[Windows];
        var bytes = 0L;
        var thread = new Thread(() =>
        {
            for (var window = 0; window < Windows; window++)
            {
                var allocated = GC.GetAllocatedBytesForCurrentThread();
                var started = Now();
                for (var i = 0; i < Times; i++)
                {
                    action();
                }

                costs[window] = (Now() - started) / (double)Times;
                bytes = (GC.GetAllocatedBytesForCurrentThread() - allocated) / Times;
            }
        });
        thread.UnsafeStart();
        thread.Join();

        // The first windows are for the compiler; of the others the best quarter begins where neither it nor the neighbours were in the way.
        Array.Sort(costs);
        return new ThreadCost(costs[Windows / 4], bytes);
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
