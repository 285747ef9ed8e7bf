using System.Buffers.Binary;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Tests.EventRing;

namespace Tunnel2.Laboratory.Tests.EventRing;

/// <summary>What <see cref="RingFixture"/> does, for rings whose producers wait and for batches.</summary>
internal static class WaitingRing
{
    internal static RingFixture Create(int capacity = 16, int consumers = 8) => new(new EventRingOptions
    {
        Capacity = capacity,
        Consumers = consumers,
        Policy = EventRingPolicy.WaitForSlowest,
    });

    internal static RegisteredReader Register(this RingFixture fixture) => new(fixture.Ring, "test");

    /// <summary>Publishes 8-byte numbers.</summary>
    internal static void Publish(WaitingProducer producer, long first, int count)
    {
        Span<byte> payload = stackalloc byte[8];
        for (long i = first; i < first + count; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(payload, i);
            Assert.Equal(WaitingStatus.Published, producer.TryPublish(1, payload));
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

    internal static void Expect(this RingFixture fixture, RegisteredReader reader, long first, int count) =>
        fixture.Expect(reader.TryRead, first, count);

    internal static void ExpectGap(this RingFixture fixture, RegisteredReader reader, long first, long count, RingGapReason reason) =>
        fixture.ExpectGap(reader.TryRead, first, count, reason);

    internal static void ExpectEmpty(this RingFixture fixture, RegisteredReader reader) => fixture.ExpectEmpty(reader.TryRead);
}
