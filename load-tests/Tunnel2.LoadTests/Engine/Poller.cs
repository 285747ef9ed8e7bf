using System.Runtime.InteropServices;
using Tunnel2.Transport.Native;

namespace Tunnel2.LoadTests.Engine;

/// <summary>
/// Waits for sockets, and until an instant with the precision of the kernel's clock, which <c>epoll_wait</c> alone does not have.
/// </summary>
internal sealed unsafe partial class Poller : IDisposable
{
    private const int MaxEvents = 64;
    private const short PollIn = 1;

    /// <summary>Shorter waits are not worth the calls: the thread would hardly be asleep before it woke.</summary>
    private const long ShortestSleep = 20_000;

    private readonly int _epoll;
    private readonly EpollEvents _events = new(MaxEvents);

    /// <summary>Makes one.</summary>
    /// <exception cref="IOException">The system has no descriptor for it.</exception>
    public Poller()
    {
        _epoll = Libc.EpollCreate(Libc.EpollCloseOnExec);
        if (_epoll < 0)
        {
            throw Errno.ToException(Errno.Last);
        }
    }

    /// <summary>Watches a socket, edge-triggered, until its descriptor is closed.</summary>
    /// <returns>0, or the error.</returns>
    public int Add(int descriptor, ulong token) => EpollEvents.Control(
        _epoll, Libc.EpollCtlAdd, descriptor, EpollEvents.In | EpollEvents.Out | EpollEvents.ReadHangUp | EpollEvents.EdgeTriggered, token);

    /// <summary>Waits for events until an instant.</summary>
    /// <param name="until">When to return in any case.</param>
    /// <returns>How many there are; few at a time, so that the schedule is looked at in between.</returns>
    public int Wait(long until)
    {
        var count = _events.Wait(_epoll, 0, MaxEvents, 0);
        if (count > 0)
        {
            return count;
        }

        var left = until - LoopClock.Now;
        if (left < ShortestSleep)
        {
            return 0;
        }

        var watched = new PollDescriptor { Descriptor = _epoll, Events = PollIn };
        var time = new TimeSpecification { Seconds = (nint)(left / LoopClock.Second), Nanoseconds = (nint)(left % LoopClock.Second) };
        return Poll(&watched, 1, &time, null) > 0 ? Math.Max(0, _events.Wait(_epoll, 0, MaxEvents, 0)) : 0;
    }

    /// <summary>An event of the last wait.</summary>
    public (ulong Token, uint Mask) this[int index] => (_events.Data(index), _events.Mask(index));

    /// <summary>
    /// Asks the system to run this thread before others, so that other programs delay the generator less when all share few processors: as
    /// a real-time thread, or else before usual ones. Both need a privilege; without it nothing changes. The generator sleeps whenever
    /// nothing is due.
    /// </summary>
    public static GeneratorPriority RaisePriority()
    {
        // Process 0 is, on Linux, the calling thread in both calls.
        const int RoundRobin = 2;
        const int Niceness = -10;
        var lowest = 1;
        return SetScheduler(0, RoundRobin, &lowest) == 0 ? GeneratorPriority.RealTime
            : SetPriority(0, 0, Niceness) == 0 ? GeneratorPriority.Raised
            : GeneratorPriority.Usual;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _ = Libc.Close(_epoll);
        _events.Dispose();
    }

    [LibraryImport("libc", EntryPoint = "ppoll")]
    private static partial int Poll(PollDescriptor* descriptors, nuint count, TimeSpecification* timeout, void* signalMask);

    // The structure sched_param has one member, the priority.
    [LibraryImport("libc", EntryPoint = "sched_setscheduler")]
    private static partial int SetScheduler(int process, int policy, int* priority);

    [LibraryImport("libc", EntryPoint = "setpriority")]
    private static partial int SetPriority(int which, int who, int priority);

    [StructLayout(LayoutKind.Sequential)]
    private struct PollDescriptor
    {
        public int Descriptor;
        public short Events;
        public short Returned;
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpecification
    {
        public nint Seconds;
        public nint Nanoseconds;
    }
}
