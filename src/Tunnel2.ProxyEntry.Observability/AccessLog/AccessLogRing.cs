using System.Numerics;
using System.Runtime.InteropServices;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// A bounded queue of records for many producers and one consumer, without locks, waits or allocation. A record is written in place, and a
/// producer that finds no place learns it at once.
/// </summary>
/// <remarks>
/// After Dmitry Vyukov's bounded queue: each slot has a sequence number that shows whose turn it is. A producer that claimed a slot must
/// publish it, because the consumer waits there. So no code that can fail may run between the two.
/// </remarks>
internal sealed class AccessLogRing
{
    private readonly Slot[] _slots;
    private readonly int _mask;
    private Positions _positions;

    /// <summary>Makes an empty ring.</summary>
    /// <param name="capacity">A power of two.</param>
    public AccessLogRing(int capacity)
    {
        ArgumentOutOfRangeException.ThrowIfNotEqual(BitOperations.IsPow2(capacity), true);
        _slots = new Slot[capacity];
        _mask = capacity - 1;
        for (var i = 0; i < capacity; i++)
        {
            _slots[i].Sequence = i;
        }
    }

    public int Capacity => _slots.Length;

    /// <summary>How many slots are claimed; the number may be slightly out of date.</summary>
    public int Count => (int)(Volatile.Read(ref _positions.Tail) - Volatile.Read(ref _positions.Head));

    /// <summary>Claims a slot. Thread-safe.</summary>
    /// <returns>False when the ring is full.</returns>
    public bool TryClaim(out long position)
    {
        position = Volatile.Read(ref _positions.Tail);
        while (true)
        {
            var ahead = Volatile.Read(ref _slots[(int)position & _mask].Sequence) - position;
            if (ahead < 0)
            {
                return false;
            }

            if (ahead == 0)
            {
                var seen = Interlocked.CompareExchange(ref _positions.Tail, position + 1, position);
                if (seen == position)
                {
                    return true;
                }

                position = seen;
            }
            else
            {
                position = Volatile.Read(ref _positions.Tail);
            }
        }
    }

    /// <summary>The record of a claimed slot, or of one that <see cref="TryPeek"/> returned.</summary>
    public ref AccessLogRecord At(long position) => ref _slots[(int)position & _mask].Record;

    /// <summary>Gives a claimed slot to the consumer.</summary>
    public void Publish(long position) => Volatile.Write(ref _slots[(int)position & _mask].Sequence, position + 1);

    /// <summary>The next record in order, if it is there. For the consumer alone.</summary>
    public bool TryPeek(out long position)
    {
        position = _positions.Head;
        return Volatile.Read(ref _slots[(int)position & _mask].Sequence) == position + 1;
    }

    /// <summary>Frees the slot of the last <see cref="TryPeek"/>. For the consumer alone.</summary>
    public void Advance()
    {
        var position = _positions.Head;
        Volatile.Write(ref _slots[(int)position & _mask].Sequence, position + _slots.Length);
        Volatile.Write(ref _positions.Head, position + 1);
    }

    private struct Slot
    {
        public long Sequence;
        public AccessLogRecord Record;
    }

    /// <summary>Each in its own cache line, so that producers and the consumer do not slow each other down.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct Positions
    {
        [FieldOffset(64)]
        public long Tail;

        [FieldOffset(128)]
        public long Head;
    }
}
