using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.EventRing;

/// The rare cases: gaps, claims that are never committed, sleeping.
internal sealed unsafe partial class EventRingReader
{
    private static readonly TimeSpan _longestSleep = TimeSpan.FromMilliseconds(100);

    private int _idlePolls;
    private long _resumedAt = -1;
    private bool _watching;
    private long _watchedSequence;
    private long _watchedHead;
    private long _watchedSince;

    /// <summary>
    /// Waits until a poll would find something other than <see cref="RingReadStatus.Empty"/>: spins first, then sleeps until a producer
    /// commits. May return early; the caller polls and decides.
    /// </summary>
    /// <returns>False when the timeout (or cancellation) came first.</returns>
    internal bool Wait(TimeSpan timeout, CancellationToken cancellationToken = default)
    {
        for (int i = 0; i < _options.SpinBeforeSleep; i++)
        {
            if (IsSomethingThere())
            {
                return true;
            }

            Thread.SpinWait(1);
        }

        if (!_sleeps && _ring.IsWritable && _options.PollEvery <= TimeSpan.Zero)
        {
            _sleeps = true;
            Interlocked.Increment(ref _ring.BlockingConsumers);
        }

        long started = TimeProvider.System.GetTimestamp();
        while (!cancellationToken.IsCancellationRequested)
        {
            TimeSpan left = timeout - TimeProvider.System.GetElapsedTime(started);
            if (left <= TimeSpan.Zero)
            {
                return IsSomethingThere();
            }

            Sleep(left < _longestSleep ? left : _longestSleep, cancellationToken);
            if (IsSomethingThere())
            {
                return true;
            }

            if (Volatile.Read(ref _ring.Head) > _cursor)
            {
                _idlePolls = PollsBetweenHeadReads - 1; // Claimed and not committed: the next poll reads the clock.
                return true;
            }
        }

        return false;
    }

    private void Sleep(TimeSpan limit, CancellationToken cancellationToken)
    {
        if (_options.PollEvery > TimeSpan.Zero)
        {
            cancellationToken.WaitHandle.WaitOne(limit < _options.PollEvery ? limit : _options.PollEvery);
            return;
        }

        if (!_ring.IsWritable)
        {
            Thread.Sleep(1);
            return;
        }

        int word = Volatile.Read(ref *_ring.WakeWord);
        Interlocked.Exchange(ref _ring.WaitFlag, 1); // A full fence before the last look at the slot.
        if (!IsSomethingThere())
        {
            bool claimed = Volatile.Read(ref _ring.Head) > _cursor;
            Futex.Wait(_ring.WakeWord, word, claimed ? TimeSpan.FromMilliseconds(1) : limit);
        }

        GC.KeepAlive(this);
    }

    private bool IsSomethingThere() => IsReady(_cursor) || _ring.IsClosed;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private RingReadStatus TakeOther(Take taken, out RingGap gap)
    {
        switch (taken)
        {
            case Take.Lapped:
                gap = Miss(OldestSafe(), RingGapReason.Overwritten);
                return RingReadStatus.Gap;
            case Take.Corrupt:
                gap = Miss(_cursor + 1, RingGapReason.Corrupt);
                return RingReadStatus.Gap;
            case Take.Abandoned:
                gap = Miss(_cursor + 1, RingGapReason.Abandoned);
                return RingReadStatus.Gap;
            default:
                return NotReady(out gap);
        }
    }

    private RingReadStatus NotReady(out RingGap gap)
    {
        gap = default;
        // The head is in the producers' cache line, so it is read only on some polls.
        if (++_idlePolls % PollsBetweenHeadReads != 0)
        {
            return RingReadStatus.Empty;
        }

        long head = Volatile.Read(ref _ring.Head);
        if (head <= _cursor)
        {
            _watching = false;
            return _ring.IsClosed && !IsReady(_cursor) ? RingReadStatus.Closed : RingReadStatus.Empty;
        }

        TimeProvider time = _ring.Options.Time;
        long now = time.GetTimestamp();
        if (!_watching || _watchedSequence != _cursor)
        {
            _watching = true;
            _watchedSequence = _cursor;
            _watchedHead = head;
            _watchedSince = now;
            return RingReadStatus.Empty;
        }

        if (time.GetElapsedTime(_watchedSince, now) < _ring.Options.ClaimTimeout)
        {
            return RingReadStatus.Empty;
        }

        // All claims from before the watch began that are still uncommitted have had their time, so a batch that died costs one wait.
        _watching = false;
        long end = _cursor;
        while (end < _watchedHead && !IsReady(end))
        {
            end++;
        }

        if (end == _cursor)
        {
            return RingReadStatus.Empty;
        }

        gap = Miss(end, RingGapReason.Abandoned);
        return RingReadStatus.Gap;
    }

    /// <summary>Whether the slot of <paramref name="sequence"/> contains that record or a later one.</summary>
    private bool IsReady(long sequence)
    {
        long seen = Volatile.Read(ref *(long*)_ring.Slot(sequence));
        GC.KeepAlive(this);
        return seen == sequence + 1 || SharedEventRing.Number(seen) > (ulong)sequence + 1;
    }

    /// <summary>
    /// The oldest record that can still be read. A reader that is lapped again before it has read a record gets a margin, because producers
    /// write to the oldest slot next.
    /// </summary>
    private long OldestSafe()
    {
        long oldest = Volatile.Read(ref _ring.Head) - _ring.Capacity;
        if (_cursor == _resumedAt)
        {
            oldest += _ring.Capacity / 16;
        }

        _resumedAt = Math.Max(oldest, _cursor + 1);
        return _resumedAt;
    }

    private RingGap Miss(long next, RingGapReason reason)
    {
        var gap = new RingGap(_cursor, next - _cursor, reason);
        Missed += gap.Count;
        _cursor = next;
        return gap;
    }
}
