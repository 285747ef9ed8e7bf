using System.Buffers.Binary;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Tests.EventRing;

/// <summary>A ring in a temporary file, with a clock of its own.</summary>
internal sealed class RingFixture : IDisposable
{
    internal RingFixture(EventRingOptions? options = null)
    {
        Directory = System.IO.Directory.CreateTempSubdirectory("tunnel2-ring-").FullName;
        Path = System.IO.Path.Combine(Directory, "ring");
        Options = (options ?? new EventRingOptions { Capacity = 16 }) with { Time = Time };
        Ring = SharedEventRing.Create(Path, Options);
        Buffer = new byte[Ring.MaxPayload];
    }

    internal ManualTime Time { get; } = new();

    internal EventRingOptions Options { get; }

    internal string Directory { get; }

    internal string Path { get; }

    /// <summary>For damaged copies: a file that is mapped must never be cut short.</summary>
    internal string Copy => Path + ".copy";

    internal SharedEventRing Ring { get; }

    internal byte[] Buffer { get; }

    internal static EventRingReaderOptions Oldest { get; } = new() { From = EventRingReaderOptions.FromOldest };

    internal static EventRingReaderOptions Registered { get; } = new() { Register = true, Name = "test" };

    internal static RingFixture Waiting(int capacity = 16, int consumers = 8) => new(new EventRingOptions
    {
        Capacity = capacity,
        Consumers = consumers,
        Policy = EventRingPolicy.WaitForSlowest,
    });

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

    /// <summary>A batch of the 8-byte numbers from 0 on.</summary>
    internal static RingBatch Numbers(int count)
    {
        var batch = new RingBatch(count, 8);
        Span<byte> payload = stackalloc byte[8];
        for (long i = 0; i < count; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(payload, i);
            Assert.True(batch.TryAdd(1, payload));
        }

        return batch;
    }

    /// <summary>Polls until something other than "empty" comes, at most 200 times (the head is looked at every 64th poll).</summary>
    internal RingReadStatus Poll(EventRingReader reader, out long value, out RingGap gap)
    {
        RingReadStatus status = RingReadStatus.Empty;
        gap = default;
        value = -1;
        for (int i = 0; i < 200 && status == RingReadStatus.Empty; i++)
        {
            status = reader.TryRead(Buffer, out RingEntry entry, out gap);
            if (status == RingReadStatus.Record)
            {
                value = entry.Length >= 8 ? BinaryPrimitives.ReadInt64LittleEndian(Buffer) : entry.Length;
            }
        }

        return status;
    }

    /// <summary>Reads exactly these numbers, in order.</summary>
    internal void Expect(EventRingReader reader, long first, int count)
    {
        for (long i = first; i < first + count; i++)
        {
            Assert.Equal(RingReadStatus.Record, Poll(reader, out long value, out _));
            Assert.Equal(i, value);
        }
    }

    internal void ExpectGap(EventRingReader reader, long first, long count, RingGapReason reason)
    {
        Assert.Equal(RingReadStatus.Gap, Poll(reader, out _, out RingGap gap));
        Assert.Equal(new RingGap(first, count, reason), gap);
    }

    internal void ExpectEmpty(EventRingReader reader) => Assert.Equal(RingReadStatus.Empty, Poll(reader, out _, out _));

    public void Dispose()
    {
        Ring.Dispose();
        System.IO.Directory.Delete(Directory, recursive: true);
    }
}
