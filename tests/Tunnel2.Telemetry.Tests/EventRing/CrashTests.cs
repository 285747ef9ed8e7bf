using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Tests.EventRing;

/// <summary>A producer may die after any step of a publish; each step is left behind here as a crash would leave it.</summary>
public sealed class CrashTests
{
    private static unsafe ref long Word(RingFixture f, long sequence) => ref *(long*)f.Ring.Slot(sequence);

    private static unsafe ref byte Byte(RingFixture f, long sequence, int offset) => ref *(f.Ring.Slot(sequence) + offset);

    private static void ClaimOnly(RingFixture f, int count = 1) => Interlocked.Add(ref f.Ring.Head, count);

    private static void OwnOnly(RingFixture f)
    {
        long sequence = Interlocked.Increment(ref f.Ring.Head) - 1;
        Word(f, sequence) = -(sequence + 1);
        Byte(f, sequence, 20) = 0x55; // Half a payload.
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void A_record_that_is_never_committed_is_skipped_after_the_bound_and_not_before(bool owned)
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(producer, 0, 2);
        if (owned)
        {
            OwnOnly(f);
        }
        else
        {
            ClaimOnly(f);
        }

        RingFixture.Publish(producer, 3, 3);
        f.Expect(reader, 0, 2);
        f.ExpectEmpty(reader);
        f.Time.Advance(TimeSpan.FromMilliseconds(99));
        f.ExpectEmpty(reader);
        f.Time.Advance(TimeSpan.FromMilliseconds(1));
        f.ExpectGap(reader, 2, 1, RingGapReason.Abandoned);
        f.Expect(reader, 3, 3);
    }

    [Fact]
    public void A_claim_at_the_end_of_the_traffic_stops_a_reader_no_longer_than_the_bound()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        ClaimOnly(f);
        f.ExpectEmpty(reader);
        f.Time.Advance(TimeSpan.FromMilliseconds(100));
        f.ExpectGap(reader, 0, 1, RingGapReason.Abandoned);
        RingFixture.Publish(producer, 1, 1);
        f.Expect(reader, 1, 1);
    }

    [Fact]
    public void A_waiting_reader_notices_a_claim_that_is_never_committed()
    {
        using var f = new RingFixture();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        ClaimOnly(f);
        RingReadStatus status = RingReadStatus.Empty;
        for (int i = 0; i < 10 && status == RingReadStatus.Empty; i++)
        {
            Assert.True(reader.Wait(TimeSpan.FromSeconds(10)));
            status = reader.TryRead(f.Buffer, out _, out _);
            f.Time.Advance(TimeSpan.FromMilliseconds(100));
        }

        Assert.Equal(RingReadStatus.Gap, status);
    }

    [Fact]
    public void A_whole_batch_that_died_costs_a_single_wait()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        ClaimOnly(f, 9);
        RingFixture.Publish(producer, 9, 2);
        f.ExpectEmpty(reader);
        f.Time.Advance(TimeSpan.FromMilliseconds(100));
        f.ExpectGap(reader, 0, 9, RingGapReason.Abandoned);
        f.Expect(reader, 9, 2);
    }

    [Fact]
    public void A_record_that_is_late_but_within_the_bound_is_not_skipped()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        producer.TryClaim(out RingClaim claim);
        RingFixture.Publish(producer, 1, 1);
        f.ExpectEmpty(reader);
        f.Time.Advance(TimeSpan.FromMilliseconds(99));
        f.ExpectEmpty(reader);
        BitConverter.TryWriteBytes(claim.Payload, 0L);
        Assert.True(claim.Commit(1, 8));
        f.Expect(reader, 0, 2);
    }

    [Fact]
    public void A_stalled_producer_does_not_touch_a_slot_that_a_later_lap_owns()
    {
        using var f = new RingFixture();
        EventRingProducer stalled = f.Ring.CreateProducer();
        EventRingProducer other = f.Ring.CreateProducer();
        stalled.TryClaim(out RingClaim claim);
        RingFixture.Publish(other, 1, 15);
        // The slot of record 0 is in the way at 16, 32, …: those numbers are given up until the claim has had its time.
        Assert.Equal(PublishStatus.Published, other.TryPublish(1, BitConverter.GetBytes(17L)));
        Assert.Equal(18, f.Ring.Head);
        f.Time.Advance(TimeSpan.FromMilliseconds(100));
        RingFixture.Publish(other, 18, 30);
        Assert.False(claim.Commit(1, 8));
        Assert.Equal(1, stalled.Dropped);
        using EventRingReader reader = f.Ring.CreateReader(RingFixture.Oldest);
        f.Expect(reader, 32, 16);
    }

    [Fact]
    public unsafe void A_producer_that_stalled_between_claim_and_ownership_finds_its_slot_lost()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        ClaimOnly(f); // Number 0, whose producer sleeps for two laps.
        RingFixture.Publish(producer, 1, 32);
        long taken = Word(f, 0);
        Assert.Equal(33, taken);
        Assert.False(producer.TryOwn(f.Ring.Slot(0), 0));
        Assert.Equal(taken, Word(f, 0));
    }

    [Fact]
    public void When_every_slot_is_stuck_a_publish_gives_up_instead_of_waiting()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        for (int i = 0; i < 16; i++)
        {
            OwnOnly(f);
        }

        Assert.Equal(PublishStatus.Dropped, producer.TryPublish(1, "x"u8));
        Assert.Equal(PublishStatus.Dropped, producer.TryClaim(out _));
        Assert.Equal(2, producer.Dropped);
        f.Time.Advance(TimeSpan.FromMilliseconds(100));
        RingFixture.Publish(producer, f.Ring.Head, 16);
    }

    [Fact]
    public void An_owner_that_comes_back_frees_the_slots_that_its_crash_left_half_filled()
    {
        using var f = new RingFixture();
        for (int i = 0; i < 16; i++)
        {
            OwnOnly(f);
        }

        using SharedEventRing ring = SharedEventRing.OpenOrCreate(f.Path, f.Options, out EventRingOpenError refused);
        Assert.Equal(EventRingOpenError.None, refused);
        using EventRingReader reader = ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(ring.CreateProducer(), 16, 16);
        f.Expect(reader, 16, 16);
    }

    [Theory]
    [InlineData(8)] // length
    [InlineData(10)] // type
    [InlineData(12)] // checksum
    [InlineData(16)] // payload
    [InlineData(23)]
    public void A_record_that_fails_its_checksum_is_a_gap_of_one_and_the_reader_continues(int offset)
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader single = f.Ring.CreateReader(new EventRingReaderOptions());
        using EventRingReader batched = f.Ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(producer, 0, 9);
        Byte(f, 4, offset) ^= 0x10;
        f.Expect(single, 0, 4);
        f.ExpectGap(single, 4, 1, RingGapReason.Corrupt);
        f.Expect(single, 5, 4);

        var batch = new RingBatch(16, f.Ring.MaxPayload);
        Assert.Equal(RingReadStatus.Record, batched.TryReadBatch(batch, out _));
        Assert.Equal(4, batch.Count);
        Assert.Equal(RingReadStatus.Gap, batched.TryReadBatch(batch, out RingGap gap));
        Assert.Equal(new RingGap(4, 1, RingGapReason.Corrupt), gap);
        Assert.Equal(RingReadStatus.Record, batched.TryReadBatch(batch, out _));
        Assert.Equal([5, 6, 7, 8], batch.Entries.ToArray().Select(e => (int)e.Sequence));
    }

    [Fact]
    public void A_record_of_one_slot_copied_into_another_is_not_accepted_there()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(producer, 0, 2);
        for (int i = 8; i < 32; i++)
        {
            Byte(f, 1, i) = Byte(f, 0, i);
        }

        f.Expect(reader, 0, 1);
        f.ExpectGap(reader, 1, 1, RingGapReason.Corrupt);
    }

    [Fact]
    public void A_length_beyond_the_slot_is_bounded_by_the_reader_even_without_checksums()
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 16, Checksum = false });
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(producer, 0, 2);
        Byte(f, 0, 8) = 0xFF;
        Byte(f, 0, 9) = 0xFF;
        f.ExpectGap(reader, 0, 1, RingGapReason.Corrupt);
        f.Expect(reader, 1, 1);
    }

    [Theory]
    [InlineData(long.MinValue)]
    [InlineData(long.MaxValue)]
    [InlineData(-1_000_000)]
    [InlineData(1_000_000)]
    public void A_damaged_sequence_costs_its_record_and_is_written_over_in_the_next_lap(long damage)
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(producer, 0, 10);
        Word(f, 5) = damage;
        f.Expect(reader, 0, 5);
        f.ExpectGap(reader, 5, 1, RingGapReason.Overwritten);
        f.Expect(reader, 6, 4);
        RingFixture.Publish(producer, 10, 16);
        f.Expect(reader, 10, 16);
    }
}
