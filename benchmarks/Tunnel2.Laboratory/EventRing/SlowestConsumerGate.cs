using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// Claims for <see cref="EventRingPolicy.WaitForSlowest"/>: no number is taken whose slot a live registered consumer has yet to read.
/// The minimum cursor is cached: the table is scanned at most once a lap while consumers keep up. Safe on any thread.
/// </summary>
internal sealed class SlowestConsumerGate
{
    private readonly SharedEventRing _ring;
    private readonly Func<TimeSpan, bool>? _onBlocked;
    private readonly ConsumerTable _table;
    private readonly DeadConsumers _dead;
    private long _minimum;
    private int _version;

    /// <param name="ring">The ring.</param>
    /// <param name="onBlocked">Asked about once a millisecond while a publisher waits, with the time waited; false gives up.</param>
    /// <param name="staleAfter">How long a consumer that polls nothing holds a publisher back.</param>
    internal SlowestConsumerGate(SharedEventRing ring, Func<TimeSpan, bool>? onBlocked, TimeSpan staleAfter)
    {
        _ring = ring;
        _onBlocked = onBlocked;
        _table = new ConsumerTable(ring);
        _dead = new DeadConsumers(ring, _table, staleAfter);
        _minimum = _table.MinimumCursor(Volatile.Read(ref ring.Head));
    }

    /// <summary>
    /// Claims up to <paramref name="wanted"/> numbers from <paramref name="first"/> on; false when there is room for none. Who only ever
    /// tries is rid of dead consumers, too: each refusal looks at them.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryClaim(int wanted, out long first, out int count)
    {
        for (; ; )
        {
            long head = Volatile.Read(ref _ring.Head);
            long room = _minimum + _ring.Capacity - head;
            if (room < wanted || _version != _table.Version)
            {
                room = Rescan(head);
                if (room <= 0)
                {
                    _dead.Skip(head);
                    first = 0;
                    count = 0;
                    return false;
                }
            }

            int claimed = (int)Math.Min(room, wanted);
            if (Interlocked.CompareExchange(ref _ring.Head, head + claimed, head) == head)
            {
                first = head;
                count = claimed;
                return true;
            }
        }
    }

    /// <summary>
    /// Waits until there is room: spin, relax, yield, then a callback each millisecond. A consumer that holds the publisher back and
    /// polls nothing for too long is skipped, so that the dead never stop the living.
    /// </summary>
    /// <returns>False when the callback said stop.</returns>
    internal bool WaitForRoom(CancellationToken cancellationToken)
    {
        TimeProvider time = _ring.Options.Time;
        long started = time.GetTimestamp();
        for (int round = 0; ; round++)
        {
            long head = Volatile.Read(ref _ring.Head);
            if (Rescan(head) > 0)
            {
                return true;
            }

            if (round < 100)
            {
                Thread.SpinWait(1 + (round >> 3));
                continue;
            }

            cancellationToken.ThrowIfCancellationRequested();
            _dead.Skip(head);
            if (round < 200)
            {
                Thread.Yield();
                continue;
            }

            if (_onBlocked is not null && !_onBlocked(time.GetElapsedTime(started)))
            {
                return false;
            }

            Thread.Sleep(1);
        }
    }

    private long Rescan(long head)
    {
        _version = _table.Version;
        long minimum = _table.MinimumCursor(head);
        Volatile.Write(ref _minimum, minimum);
        return minimum + _ring.Capacity - head;
    }
}
