using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.TestUtilities;

namespace Tunnel2.Programs.Tests.EventRing;

/// <summary>Follows a ring on a thread of its own and checks order, contents and gaps. Its counts may be read from any thread.</summary>
internal sealed class Follower : IDisposable
{
    /// <summary>The type of records that the test's own process publishes.</summary>
    internal const ushort OwnType = 2;

    private readonly IFollowedReader _reader;
    private readonly RingBatch _batch;
    private readonly AsyncCounter _batches = new("batches of the follower");
    private readonly Thread _thread;
    private volatile bool _stop;
    private long _own;

    internal Follower(SharedEventRing ring)
        : this(ring, new LossyReader(ring.CreateReader(new EventRingReaderOptions())))
    {
    }

    /// <param name="ring">The ring.</param>
    /// <param name="reader">What reads it; from now on only this object may use it.</param>
    internal Follower(SharedEventRing ring, IFollowedReader reader)
    {
        _reader = reader;
        _batch = new RingBatch(256, ring.MaxPayload);
        Start = _reader.Cursor;
        _thread = new Thread(Follow) { IsBackground = true, Name = "follower" };
        _thread.Start();
    }

    internal long Start { get; }

    /// <summary>What was wrong, or null.</summary>
    internal string? Fault { get; private set; }

    internal long Records { get; private set; }

    internal long Own => Volatile.Read(ref _own);

    internal long Missed => _reader.Missed;

    internal long Abandoned { get; private set; }

    internal long Corrupt { get; private set; }

    internal long Skipped { get; private set; }

    /// <summary>Waits until the counts are so.</summary>
    internal async Task UntilAsync(Func<Follower, bool> condition, string what)
    {
        await _batches.UntilAsync(() => condition(this) || Fault is not null, what, TimeSpan.FromMinutes(2));
        Assert.True(Fault is null, $"{what}: {Fault}");
    }

    /// <summary>Reads what there is, to the end, and stops.</summary>
    internal Task StopAsync()
    {
        _stop = true;
        return Task.Run(_thread.Join);
    }

    public void Dispose()
    {
        _stop = true;
        _thread.Join();
        _reader.Dispose();
    }

    private void Follow()
    {
        long next = Start;
        while (Fault is null)
        {
            bool last = _stop;
            RingReadStatus status = _reader.TryReadBatch(_batch, out RingGap gap);
            if (status == RingReadStatus.Empty)
            {
                if (last && _reader.Lag == 0)
                {
                    return;
                }

                Thread.Yield();
                continue;
            }

            if (status == RingReadStatus.Gap)
            {
                Fault = gap.First == next ? null : $"{gap} where {next} was due";
                next = gap.First + gap.Count;
                Abandoned += gap.Reason == RingGapReason.Abandoned ? gap.Count : 0;
                Corrupt += gap.Reason == RingGapReason.Corrupt ? gap.Count : 0;
                Skipped += gap.Reason == RingGapReason.SkippedAsStale ? gap.Count : 0;
            }

            foreach (ref readonly RingEntry entry in _batch.Entries)
            {
                if (entry.Sequence != next || !IsWhole(_batch.Payload(entry)))
                {
                    Fault = $"record {entry.Sequence} where {next} was due, or torn";
                    break;
                }

                next++;
                Records++;
                if (entry.Type == OwnType)
                {
                    Volatile.Write(ref _own, _own + 1);
                }
            }

            _batches.Increment();
        }
    }

    private static bool IsWhole(ReadOnlySpan<byte> payload)
    {
        long first = MemoryMarshal.Read<long>(payload);
        return payload.Length % 8 == 0 && BinaryPrimitives.ReadInt32LittleEndian(payload[8..]) == payload.Length
            && MemoryMarshal.Cast<byte, long>(payload[16..]).IndexOfAnyExcept(first) < 0;
    }

    private sealed class LossyReader(EventRingReader reader) : IFollowedReader
    {
        public long Cursor => reader.Cursor;

        public long Lag => reader.Lag;

        public long Missed => reader.Missed;

        public RingReadStatus TryReadBatch(RingBatch batch, out RingGap gap) => reader.TryReadBatch(batch, out gap);

        public void Dispose() => reader.Dispose();
    }
}
