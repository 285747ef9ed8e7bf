using System.Runtime.CompilerServices;
using Tunnel2.Telemetry.EventRing;
using static Tunnel2.Telemetry.EventRing.EventRingLayout;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// A reader with an entry in the consumer table, for which a <see cref="WaitingProducer"/> waits: it shows its cursor and a sign of life
/// there. A producer that found it dead continued without it; it learns so, with its loss, and is waited for again. Not thread-safe: one
/// thread at a time.
/// </summary>
internal sealed unsafe class RegisteredReader : IDisposable
{
    private static readonly TimeSpan _longestSilence = TimeSpan.FromMilliseconds(100);

    private readonly SharedEventRing _ring;
    private readonly ConsumerTable _table;
    private readonly string _name;
    private EventRingReader _reader;
    private byte* _entry;
    private int _index;
    private long _word;
    private long _beat;
    private long _missed;

    /// <param name="ring">The ring; the reader starts with what is published from now on.</param>
    /// <param name="name">Shown in the table; the first 10 characters count.</param>
    internal RegisteredReader(SharedEventRing ring, string name)
    {
        if (!ring.IsWritable)
        {
            throw new InvalidOperationException("A ring opened for reading only takes no registered consumers.");
        }

        _ring = ring;
        _table = new ConsumerTable(ring);
        _name = name;
        _index = _table.TryRegister(name, Volatile.Read(ref ring.Head), out _word);
        if (_index < 0)
        {
            throw new InvalidOperationException($"All {ring.Header.Consumers} entries of the consumer table are taken.");
        }

        // Producers that scanned the table before this entry was active may have claimed up to the head of now; behind it they wait for us.
        _entry = _table.Entry(_index);
        _reader = ring.CreateReader(new EventRingReaderOptions());
        PublishCursor();
    }

    /// <summary>The sequence number of the next record.</summary>
    internal long Cursor => _reader.Cursor;

    /// <summary>Sequence numbers claimed but not yet handed out.</summary>
    internal long Lag => _reader.Lag;

    /// <summary>Sequence numbers that were reported in gaps.</summary>
    internal long Missed => _missed + _reader.Missed;

    internal bool IsRegistered => _entry != null;

    /// <summary>As <see cref="EventRingReader.TryRead"/>.</summary>
    internal RingReadStatus TryRead(Span<byte> destination, out RingEntry entry, out RingGap gap)
    {
        Beat();
        if (IsSkipped())
        {
            entry = default;
            gap = ComeBack();
            return RingReadStatus.Gap;
        }

        return Report(_reader.TryRead(destination, out entry, out gap), ref gap);
    }

    /// <summary>As <see cref="EventRingReader.TryReadBatch"/>.</summary>
    internal RingReadStatus TryReadBatch(RingBatch batch, out RingGap gap)
    {
        Beat();
        if (IsSkipped())
        {
            batch.Clear();
            gap = ComeBack();
            return RingReadStatus.Gap;
        }

        return Report(_reader.TryReadBatch(batch, out gap), ref gap);
    }

    /// <summary>As <see cref="EventRingReader.Wait"/>, with a sign of life all the while.</summary>
    internal bool Wait(TimeSpan timeout, CancellationToken cancellationToken = default)
    {
        long started = TimeProvider.System.GetTimestamp();
        while (true)
        {
            Beat();
            TimeSpan left = timeout - TimeProvider.System.GetElapsedTime(started);
            if (IsSkipped() || _reader.Wait(left < _longestSilence ? left : _longestSilence, cancellationToken))
            {
                return true;
            }

            if (left <= _longestSilence || cancellationToken.IsCancellationRequested)
            {
                return false;
            }
        }
    }

    /// <summary>Frees the entry of the table. The object must not be used afterwards.</summary>
    public void Dispose()
    {
        _reader.Dispose();
        if (_entry != null)
        {
            _entry = null;
            _table.Release(_index, _word);
        }
    }

    private RingReadStatus Report(RingReadStatus status, ref RingGap gap)
    {
        if (status == RingReadStatus.Gap && gap.Reason == RingGapReason.Overwritten && IsSkipped())
        {
            // Skipped and lapped since the look above: one loss, with its cause.
            gap = new RingGap(gap.First, gap.Count + ComeBack().Count, RingGapReason.SkippedAsStale);
        }
        else
        {
            PublishCursor();
        }

        return status;
    }

    /// <summary>A producer continued without this reader: registers again and says what was lost in that time.</summary>
    private RingGap ComeBack()
    {
        long skipped = ConsumerState.With(_word, ConsumerState.Skipped);
        if (Interlocked.CompareExchange(ref *(long*)_entry, _word, skipped) != skipped)
        {
            // Another consumer took the entry for that of a dead process: take a new one, or continue as a lossy reader.
            _index = _table.TryRegister(_name, Cursor, out _word);
            _entry = _index < 0 ? null : _table.Entry(_index);
        }

        _table.SayChanged();
        long cursor = Cursor;
        long next = Math.Max(cursor, Volatile.Read(ref _ring.Head) - _ring.Capacity);
        _missed += _reader.Missed + (next - cursor);
        _reader.Dispose();
        _reader = _ring.CreateReader(new EventRingReaderOptions { From = next });
        PublishCursor();
        return new RingGap(cursor, next - cursor, RingGapReason.SkippedAsStale);
    }

    /// <summary>The sign of life: moves with every poll, whether or not it found anything.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Beat()
    {
        if (_entry != null)
        {
            Volatile.Write(ref *(long*)(_entry + ConsumerBeatOffset), ++_beat);
            GC.KeepAlive(_ring);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void PublishCursor()
    {
        if (_entry != null)
        {
            Volatile.Write(ref *(long*)(_entry + ConsumerCursorOffset), _reader.Cursor);
            GC.KeepAlive(_ring);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool IsSkipped()
    {
        bool isSkipped = _entry != null && Volatile.Read(ref *(long*)_entry) != _word;
        GC.KeepAlive(_ring);
        return isSkipped;
    }
}
