using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Tunnel2.Transport.Native;

/// <summary>
/// An array of <c>struct epoll_event</c> outside the managed heap. The structure is packed (12 bytes) on x64 only; elsewhere its 64 bits of
/// data are aligned (16 bytes).
/// </summary>
internal sealed unsafe class EpollEvents : IDisposable
{
    public const uint In = 0x1;
    public const uint Priority = 0x2;
    public const uint Out = 0x4;
    public const uint Error = 0x8;
    public const uint HangUp = 0x10;
    public const uint ReadHangUp = 0x2000;
    public const uint Exclusive = 1u << 28;
    public const uint EdgeTriggered = 1u << 31;

    private byte* _events;

    public EpollEvents(int capacity)
    {
        Capacity = capacity;
        _events = (byte*)NativeMemory.AllocZeroed((nuint)(capacity * Stride));
    }

    public int Capacity { get; }

    private byte* At(int index) => _events + (index * Stride);

    private static int Stride => RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 12 : 16;

    private static int DataOffset => RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 4 : 8;

    public uint Mask(int index) => Unsafe.ReadUnaligned<uint>(_events + (index * Stride));

    public ulong Data(int index) => Unsafe.ReadUnaligned<ulong>(_events + (index * Stride) + DataOffset);

    /// <summary>Adds or changes the events for which a descriptor is watched.</summary>
    /// <returns>0, or the error.</returns>
    public static int Control(int epoll, int operation, int descriptor, uint mask, ulong data)
    {
        var epollEvent = stackalloc byte[16];
        Unsafe.WriteUnaligned(epollEvent, mask);
        Unsafe.WriteUnaligned(epollEvent + DataOffset, data);
        return Libc.EpollControl(epoll, operation, descriptor, epollEvent) == 0 ? 0 : Errno.Last;
    }

    /// <summary>Waits for events, and stores them.</summary>
    /// <param name="epoll">The descriptor to wait on.</param>
    /// <param name="from">The index of the first event to store.</param>
    /// <param name="count">The maximum number of events, at least 1.</param>
    /// <param name="timeout">In milliseconds; 0: does not wait, -1: without end.</param>
    /// <returns>The number of events; negative: the error.</returns>
    public int Wait(int epoll, int from, int count, int timeout)
    {
        // The error is read here: on the way to a caller the runtime may stop the thread, and make calls of its own.
        var found = Libc.EpollWait(epoll, At(from), count, timeout);
        return found >= 0 ? found : -Errno.Last;
    }

    public void Dispose()
    {
        NativeMemory.Free(_events);
        _events = null;
    }
}
