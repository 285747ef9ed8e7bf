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

    /// <summary>The address of an event.</summary>
    public byte* At(int index) => _events + (index * Stride);

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

    public void Dispose()
    {
        NativeMemory.Free(_events);
        _events = null;
    }
}
