using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Client.Live;

/// <summary>
/// Follows a ring of this machine, on the calling thread. It only reads the file, so it cannot affect the server. When the server starts
/// again, it continues with the new ring.
/// </summary>
internal sealed class LocalTap
{
    private static readonly TimeSpan _patience = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan _pollEvery = TimeSpan.FromMilliseconds(10);

    private readonly string _path;
    private readonly TapSink _sink;

    public LocalTap(string path, TapSink sink)
    {
        _path = path;
        _sink = sink;
    }

    /// <summary>Opens the ring; the result names its fault.</summary>
    public static EventRingOpenError TryOpen(string path, out SharedEventRing? ring) =>
        SharedEventRing.TryOpen(path, new EventRingOptions(), writable: false, out ring);

    /// <summary>Follows until <paramref name="stop"/>.</summary>
    /// <param name="ring">The first ring.</param>
    /// <param name="fromOldest">Whether to begin with the oldest record in it.</param>
    /// <param name="stop">Ends it when cancelled.</param>
    public void Run(SharedEventRing ring, bool fromOldest, CancellationToken stop)
    {
        long from = fromOldest ? EventRingReaderOptions.FromOldest : EventRingReaderOptions.FromHead;
        while (true)
        {
            long next = Follow(ring, from, stop);
            if (stop.IsCancellationRequested)
            {
                return;
            }

            ulong before = ring.Header.RingId;
            if (WaitForSuccessor(ring, stop) is not { } successor)
            {
                return;
            }

            _sink.OnGap(new RingGap(next, 0, RingGapReason.NewRing));
            System.Diagnostics.Debug.Assert(successor.Header.RingId != before, "It is another ring.");
            ring = successor;
            from = EventRingReaderOptions.FromOldest;
        }
    }

    private long Follow(SharedEventRing ring, long from, CancellationToken stop)
    {
        using EventRingReader reader = ring.CreateReader(
            new EventRingReaderOptions { From = from, PollEvery = _pollEvery, SpinBeforeSleep = 0 });
        var batch = new RingBatch(256, ring.MaxPayload);
        bool flushed = true;
        while (!stop.IsCancellationRequested)
        {
            switch (reader.TryReadBatch(batch, out RingGap gap))
            {
                case RingReadStatus.Record:
                    foreach (ref readonly RingEntry entry in batch.Entries)
                    {
                        _sink.OnRecord(entry.Sequence, entry.Type, batch.Payload(entry));
                    }

                    flushed = false;
                    break;
                case RingReadStatus.Gap:
                    _sink.OnGap(gap);
                    flushed = false;
                    break;
                case RingReadStatus.Closed:
                    return reader.Cursor;
                default:
                    if (!flushed)
                    {
                        _sink.Flush();
                        flushed = true;
                    }

                    reader.Wait(_patience, stop);
                    break;
            }
        }

        return reader.Cursor;
    }

    private SharedEventRing? WaitForSuccessor(SharedEventRing ring, CancellationToken stop)
    {
        _sink.Flush();
        while (!stop.WaitHandle.WaitOne(_patience))
        {
            if (TryOpen(_path, out SharedEventRing? found) == EventRingOpenError.None && found!.Header.RingId != ring.Header.RingId)
            {
                return found;
            }
        }

        return null;
    }
}
