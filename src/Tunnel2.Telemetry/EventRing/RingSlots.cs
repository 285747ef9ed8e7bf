using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// The slots of a ring. A value, so that a loop over a batch keeps it in registers: after an atomic operation every field of an object is
/// read again. It does not keep the ring alive.
/// </summary>
internal readonly unsafe struct RingSlots
{
    private readonly byte* _first;
    private readonly long _mask;
    private readonly int _shift;

    /// <param name="first">The first slot.</param>
    /// <param name="capacity">The number of slots, a power of two.</param>
    /// <param name="slotSize">Bytes of a slot, a power of two.</param>
    internal RingSlots(byte* first, int capacity, int slotSize)
    {
        _first = first;
        _mask = capacity - 1;
        _shift = int.Log2(slotSize);
    }

    /// <summary>The slot of record <paramref name="sequence"/>.</summary>
    internal byte* this[long sequence]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _first + ((sequence & _mask) << _shift);
    }
}
