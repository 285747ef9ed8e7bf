using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Tests.EventRing;

namespace Tunnel2.Laboratory.Tests.EventRing;

public sealed class BatchPublishingTests
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Payloads_of_every_length_come_back_unchanged_in_batches(bool checksum)
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 64, Checksum = checksum });
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader single = f.Ring.CreateReader(new EventRingReaderOptions());
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        byte[] payload = new byte[f.Ring.MaxPayload];
        new Random(1).NextBytes(payload);
        var sent = new RingBatch(19, f.Ring.MaxPayload);
        var received = new RingBatch(19, f.Ring.MaxPayload);
        for (int length = 0; length <= payload.Length;)
        {
            sent.Clear();
            int first = length;
            while (length <= payload.Length && sent.TryAdd((ushort)(length + 1), payload.AsSpan(0, length)))
            {
                length++;
            }

            Assert.Equal(sent.Count, producer.TryPublishBatch(sent));
            Assert.Equal(RingReadStatus.Record, reader.TryReadBatch(received, out _));
            Assert.Equal(sent.Count, received.Count);
            foreach (RingEntry entry in received.Entries.ToArray())
            {
                Assert.Equal(new RingEntry(first, entry.Offset, (ushort)first, (ushort)(first + 1)), entry);
                Assert.Equal(payload.AsSpan(0, first), received.Payload(entry));
                // One by one it is the same record: both ways must write and check one format.
                Assert.Equal(RingReadStatus.Record, single.TryRead(f.Buffer, out RingEntry alone, out _));
                Assert.Equal(entry with { Offset = 0 }, alone);
                Assert.Equal(payload.AsSpan(0, first), f.Buffer.AsSpan(0, alone.Length));
                first++;
            }
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(3)]
    [InlineData(7)]
    public void A_batch_leaves_a_slot_that_another_producer_holds_and_gives_its_record_another_number(int held)
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 32 });
        EventRingProducer producer = f.Ring.CreateProducer();
        RingFixture.Publish(producer, 0, held);
        producer.TryClaim(out RingClaim claim); // Holds its slot into the next lap.
        RingFixture.Publish(producer, held + 1, 31 - held);
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingBatch batch = WaitingRing.Numbers(8);
        Assert.Equal(8, producer.TryPublishBatch(batch));
        Assert.True(claim.Commit(1, 8));
        List<long> values = [];
        for (int poll = 0; poll < 20; poll++)
        {
            if (f.Poll(reader, out long value, out _) == RingReadStatus.Record)
            {
                values.Add(value);
            }

            f.Time.Advance(TimeSpan.FromSeconds(1)); // The number that was given up is skipped after a bound.
        }

        Assert.Equal([.. Enumerable.Range(0, 8).Where(i => i != held).Select(i => (long)i), held], values);
        Assert.Equal(1, reader.Missed);
        Assert.Equal(0, producer.Dropped);
    }

    [Fact]
    public void A_batch_is_published_and_polled_in_order()
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 64 });
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        var sent = new RingBatch(20, f.Ring.MaxPayload);
        var received = new RingBatch(7, f.Ring.MaxPayload);
        for (int i = 0; i < 20; i++)
        {
            Assert.True(sent.TryAdd((ushort)(i + 1), new byte[i * 12].AsSpan()));
        }

        Assert.False(sent.TryAdd(1, "x"u8));
        Assert.Equal(20, producer.TryPublishBatch(sent));
        long next = 0;
        while (reader.TryReadBatch(received, out _) == RingReadStatus.Record)
        {
            foreach (ref readonly RingEntry entry in received.Entries)
            {
                Assert.Equal(next, entry.Sequence);
                Assert.Equal(next + 1, entry.Type);
                Assert.Equal(next * 12, received.Payload(entry).Length);
                next++;
            }
        }

        Assert.Equal(20, next);
    }

    [Fact]
    public void A_batch_larger_than_the_ring_is_published_in_parts()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingBatch batch = WaitingRing.Numbers(100);
        Assert.Equal(100, producer.PublishBatch(batch));
        f.ExpectGap(reader, 0, 84, RingGapReason.Overwritten);
        f.Expect(reader, 84, 16);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void An_invalid_entry_of_a_batch_costs_its_number_only(bool checksum)
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 16, Checksum = checksum });
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        AnInvalidEntryCostsItsNumberOnly(f, reader, batch => producer.TryPublishBatch(batch));
        Assert.Equal(1, producer.Dropped);
    }

    [Fact]
    public void An_empty_record_may_end_a_batch_whose_buffer_is_full()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        var batch = new RingBatch(2, 8);
        Assert.True(batch.TryAdd(1, new byte[16]));
        Assert.True(batch.TryAdd(2, default));
        Assert.Equal(2, producer.TryPublishBatch(batch));
        Assert.Equal(RingReadStatus.Record, reader.TryRead(f.Buffer, out RingEntry first, out _));
        Assert.Equal(RingReadStatus.Record, reader.TryRead(f.Buffer, out RingEntry second, out _));
        Assert.Equal((16, 0), ((int)first.Length, (int)second.Length));
    }

    [Fact]
    public void A_batch_takes_a_slot_whose_claim_has_expired_and_one_that_is_damaged()
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 32 });
        EventRingProducer producer = f.Ring.CreateProducer();
        producer.TryClaim(out RingClaim stalled);
        RingFixture.Publish(producer, 1, 31);
        producer.TryPublish(1, "x"u8); // Sees the stalled claim for the first time, and is given the next number.
        f.Time.Advance(TimeSpan.FromSeconds(1));
        RingFixture.Publish(producer, 0, 30);
        Assert.Equal(64, f.Ring.Head);
        Damage(f, 67);
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingBatch batch = WaitingRing.Numbers(8);
        Assert.Equal(8, producer.TryPublishBatch(batch));
        f.Expect(reader, 0, 8);
        Assert.Equal(0, producer.Dropped);
        Assert.Equal(0, reader.Missed);
        Assert.False(stalled.Commit(1, 8));

        static unsafe void Damage(RingFixture f, long sequence) => *(long*)f.Ring.Slot(sequence) = long.MaxValue - 5;
    }

    internal static void AnInvalidEntryCostsItsNumberOnly(RingFixture f, EventRingReader reader, Func<RingBatch, int> publish)
    {
        var batch = new RingBatch(3, 1000);
        batch.TryAdd(1, new byte[8]);
        batch.TryAdd(1, new byte[1000]);
        batch.TryAdd(1, new byte[8]);
        Assert.Equal(3, publish(batch));
        f.Expect(reader, 0, 1);
        f.ExpectGap(reader, 1, 1, RingGapReason.Abandoned);
        Assert.Equal(RingReadStatus.Record, f.Poll(reader, out _, out _));
    }
}
