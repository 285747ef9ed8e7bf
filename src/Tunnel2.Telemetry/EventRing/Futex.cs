using System.Runtime.InteropServices;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Sleeps until a word in shared memory changes, across processes: futex(2) on 64-bit Linux. Elsewhere it sleeps for 1 ms, which keeps the
/// contract (spurious returns are allowed) with a higher latency. Safe on any thread.
/// </summary>
internal static unsafe partial class Futex
{
    private const int WaitOperation = 0;
    private const int WakeOperation = 1;

    private static readonly long _number = !OperatingSystem.IsLinux() ? -1 : RuntimeInformation.ProcessArchitecture switch
    {
        Architecture.X64 => 202,
        Architecture.Arm64 => 98,
        _ => -1,
    };

    /// <summary>Sleeps at most <paramref name="timeout"/> while <paramref name="word"/> is <paramref name="expected"/>.</summary>
    internal static void Wait(int* word, int expected, TimeSpan timeout)
    {
        if (_number < 0)
        {
            Thread.Sleep(1);
            return;
        }

        var limit = new TimeSpec
        {
            Seconds = (long)timeout.TotalSeconds,
            Nanoseconds = timeout.Ticks % TimeSpan.TicksPerSecond * 100,
        };
        _ = SystemCall(_number, word, WaitOperation, expected, &limit, null, 0);
    }

    /// <summary>Wakes every sleeper of <paramref name="word"/>.</summary>
    internal static void WakeAll(int* word)
    {
        if (_number >= 0)
        {
            _ = SystemCall(_number, word, WakeOperation, int.MaxValue, null, null, 0);
        }
    }

    [LibraryImport("libc", EntryPoint = "syscall")]
    private static partial long SystemCall(
        long number, int* word, long operation, long value, TimeSpec* timeout, int* secondWord, long thirdValue);

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        internal long Seconds;
        internal long Nanoseconds;
    }
}
