using System.Buffers.Binary;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.EventRing;

/// <summary>A ring in a temporary file, with a clock of its own.</summary>
internal sealed class RingFixture : IDisposable
{
    /// <summary>A poll for one record.</summary>
    internal delegate RingReadStatus Read(Span<byte> destination, out RingEntry entry, out RingGap gap);

    internal RingFixture(EventRingOptions? options = null)
    {
        Directory = System.IO.Directory.CreateTempSubdirectory("tunnel2-ring-").FullName;
        Path = System.IO.Path.Combine(Directory, "ring");
        Options = (options ?? new EventRingOptions { Capacity = 16 }) with { Time = Time };
        Ring = SharedEventRing.Create(Path, Options);
        Buffer = new byte[Ring.MaxPayload];
    }

    internal ManualTimeProvider Time { get; } = new();

    internal EventRingOptions Options { get; }

    internal string Directory { get; }

    internal string Path { get; }

    /// <summary>For damaged copies: a file that is mapped must never be cut short.</summary>
    internal string Copy => Path + ".copy";

    internal SharedEventRing Ring { get; }

    internal byte[] Buffer { get; }

    internal static EventRingReaderOptions Oldest { get; } = new() { From = EventRingReaderOptions.FromOldest };

    /// <summary>Publishes 8-byte numbers.</summary>
    internal static void Publish(EventRingProducer producer, long first, int count)
    {
        Span<byte> payload = stackalloc byte[8];
        for (long i = first; i < first + count; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(payload, i);
            Assert.Equal(PublishStatus.Published, producer.TryPublish(1, payload));
        }
    }

    /// <summary>Polls until something other than "empty" comes, at most 200 times (the head is looked at every 64th poll).</summary>
    internal RingReadStatus Poll(Read read, out long value, out RingGap gap)
    {
        RingReadStatus status = RingReadStatus.Empty;
        gap = default;
        value = -1;
        for (int i = 0; i < 200 && status == RingReadStatus.Empty; i++)
        {
            status = read(Buffer, out RingEntry entry, out gap);
            if (status == RingReadStatus.Record)
            {
                value = entry.Length >= 8 ? BinaryPrimitives.ReadInt64LittleEndian(Buffer) : entry.Length;
            }
        }

        return status;
    }

    internal RingReadStatus Poll(EventRingReader reader, out long value, out RingGap gap) => Poll(reader.TryRead, out value, out gap);

    /// <summary>Reads exactly these numbers, in order.</summary>
    internal void Expect(EventRingReader reader, long first, int count) => Expect(reader.TryRead, first, count);

    internal void ExpectGap(EventRingReader reader, long first, long count, RingGapReason reason) =>
        ExpectGap(reader.TryRead, first, count, reason);

    internal void ExpectEmpty(EventRingReader reader) => ExpectEmpty(reader.TryRead);

    internal void Expect(Read read, long first, int count)
    {
        for (long i = first; i < first + count; i++)
        {
            Assert.Equal(RingReadStatus.Record, Poll(read, out long value, out _));
            Assert.Equal(i, value);
        }
    }

    internal void ExpectGap(Read read, long first, long count, RingGapReason reason)
    {
        Assert.Equal(RingReadStatus.Gap, Poll(read, out _, out RingGap gap));
        Assert.Equal(new RingGap(first, count, reason), gap);
    }

    internal void ExpectEmpty(Read read) => Assert.Equal(RingReadStatus.Empty, Poll(read, out _, out _));

    public void Dispose()
    {
        Ring.Dispose();
        System.IO.Directory.Delete(Directory, recursive: true);
    }
}
