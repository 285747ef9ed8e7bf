using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Tests.EventRing;

namespace Tunnel2.Laboratory.Tests.EventRing;

public sealed class WaitForSlowestTests
{
    private static byte[] Number(long value)
    {
        byte[] bytes = new byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(bytes, value);
        return bytes;
    }

    [Fact]
    public void A_full_ring_refuses_until_the_slowest_consumer_has_read()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring);
        using RegisteredReader fast = f.Register();
        using RegisteredReader slow = f.Register();
        WaitingRing.Publish(producer, 0, 16);
        f.Expect(fast, 0, 16);
        Assert.Equal(WaitingStatus.Full, producer.TryPublish(1, Number(16)));
        f.Expect(slow, 0, 1);
        WaitingRing.Publish(producer, 16, 1);
        Assert.Equal(WaitingStatus.Full, producer.TryPublish(1, Number(17)));
        f.Expect(slow, 1, 16);
        f.Expect(fast, 16, 1);
    }

    [Fact]
    public void A_batch_takes_the_room_there_is()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring);
        using RegisteredReader reader = f.Register();
        RingBatch batch = WaitingRing.Numbers(20);
        Assert.Equal(8, producer.TryPublishBatch(batch));
        Assert.Equal(8, producer.TryPublishBatch(batch, 8));
        Assert.Equal(0, producer.TryPublishBatch(batch, 16));
        f.Expect(reader, 0, 3);
        Assert.Equal(3, producer.TryPublishBatch(batch, 16));
        f.Expect(reader, 3, 16);
    }

    [Fact]
    public void A_record_of_a_batch_whose_slot_is_held_counts_as_dropped_where_there_is_no_room_for_it()
    {
        using var f = WaitingRing.Create(capacity: 32);
        var producer = new WaitingProducer(f.Ring);
        WaitingRing.Publish(producer, 0, 31);
        producer.TryClaim(out RingClaim claim); // Holds its slot into the next lap.
        using RegisteredReader reader = f.Register();
        WaitingRing.Publish(producer, 32, 24);
        Assert.Equal(8, producer.TryPublishBatch(WaitingRing.Numbers(8)));
        Assert.Equal(1, producer.Dropped);
        Assert.Equal(64, f.Ring.Head);

        Assert.True(claim.Commit(1, 8));
        f.Expect(reader, 32, 24);
        f.Expect(reader, 0, 7);
        f.ExpectEmpty(reader);
        f.Time.Advance(f.Options.ClaimTimeout);
        f.ExpectGap(reader, 63, 1, RingGapReason.Abandoned);
        WaitingRing.Publish(producer, 64, 1);
        f.Expect(reader, 64, 1);
        Assert.Equal(1, producer.Dropped);
    }

    [Fact]
    public void Entries_of_the_table_that_were_not_taken_block_no_other()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring);
        WaitingRing.Publish(producer, 0, 1000);
        using (f.Register())
        {
        }

        WaitingRing.Publish(producer, 1000, 1000);
    }

    [Fact]
    public void A_lossy_reader_blocks_no_other()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring);
        using EventRingReader lossy = f.Ring.CreateReader(new EventRingReaderOptions());
        WaitingRing.Publish(producer, 0, 100);
        f.ExpectGap(lossy, 0, 84, RingGapReason.Overwritten);
    }

    [Fact]
    public void An_idle_reader_that_polls_stays_alive_and_misses_nothing()
    {
        using var f = WaitingRing.Create();
        RegisteredReader? reader = null;
        bool read = false;
        var producer = new WaitingProducer(f.Ring, waited =>
        {
            // The reader polls for an hour of blocked time before it takes a record: slow is not dead.
            f.Time.Advance(TimeSpan.FromSeconds(4));
            _ = reader!.IsRegistered;
            if (waited < TimeSpan.FromMinutes(3))
            {
                Touch(reader);
            }
            else
            {
                read = true;
                f.Expect(reader, 0, 16);
            }

            return true;
        });
        reader = f.Register();
        for (int i = 0; i < 100; i++)
        {
            f.ExpectEmpty(reader);
            f.Time.Advance(TimeSpan.FromSeconds(10));
        }

        WaitingRing.Publish(producer, 0, 16);
        Assert.Equal(WaitingStatus.Published, producer.Publish(1, Number(16)));
        Assert.True(read);
        f.Expect(reader, 16, 1);
        Assert.Equal(0, reader.Missed);
        reader.Dispose();
    }

    /// <summary>A sign of life that reads nothing.</summary>
    private static void Touch(RegisteredReader reader) => reader.Wait(TimeSpan.FromTicks(1), new CancellationToken(canceled: true));

    [Fact]
    public void When_every_reader_is_dead_the_producer_continues()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring, _ =>
        {
            f.Time.Advance(TimeSpan.FromSeconds(1));
            return true;
        });
        using RegisteredReader first = f.Register();
        using RegisteredReader second = f.Register();
        WaitingRing.Publish(producer, 0, 16);
        Assert.Equal(WaitingStatus.Published, producer.Publish(1, Number(16)));
        WaitingRing.Publish(producer, 17, 50);
        Assert.All(new ConsumerTable(f.Ring).List(), c => Assert.True(c.IsSkipped));
    }

    [Fact]
    public void A_producer_that_never_waits_is_rid_of_a_dead_reader_and_not_of_one_that_polls()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring);
        using RegisteredReader dead = f.Register();
        WaitingRing.Publish(producer, 0, 16);
        Assert.Equal(WaitingStatus.Full, producer.TryPublish(1, Number(16)));
        f.Time.Advance(DeadConsumers.StaleAfter - TimeSpan.FromMilliseconds(1));
        Assert.Equal(WaitingStatus.Full, producer.TryPublish(1, Number(16)));
        f.Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Equal(WaitingStatus.Full, producer.TryPublish(1, Number(16)));
        WaitingRing.Publish(producer, 16, 1);
        Assert.All(new ConsumerTable(f.Ring).List(), c => Assert.True(c.IsSkipped));
    }

    [Fact]
    public void A_reader_that_was_skipped_learns_its_loss_and_is_waited_for_again()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring, _ =>
        {
            f.Time.Advance(TimeSpan.FromSeconds(1));
            return true;
        });
        using RegisteredReader reader = f.Register();
        WaitingRing.Publish(producer, 0, 16);
        producer.Publish(1, Number(16));
        WaitingRing.Publish(producer, 17, 23);
        f.ExpectGap(reader, 0, 24, RingGapReason.SkippedAsStale);
        Assert.Equal(WaitingStatus.Full, producer.TryPublish(1, Number(40)));
        f.Expect(reader, 24, 16);
        WaitingRing.Publish(producer, 40, 16);
        f.Expect(reader, 40, 16);
    }

    [Fact]
    public void A_live_reader_holds_the_producer_while_a_dead_one_is_skipped()
    {
        using var f = WaitingRing.Create();
        RegisteredReader? alive = null;
        var producer = new WaitingProducer(f.Ring, waited =>
        {
            f.Time.Advance(TimeSpan.FromSeconds(1));
            Touch(alive!);
            return waited < TimeSpan.FromSeconds(30);
        });
        using RegisteredReader dead = f.Register();
        alive = f.Register();
        WaitingRing.Publish(producer, 0, 16);
        Assert.Equal(WaitingStatus.Full, producer.Publish(1, Number(16)));
        Assert.Single(new ConsumerTable(f.Ring).List(), c => c.IsSkipped);
        f.Expect(alive, 0, 16);
        WaitingRing.Publish(producer, 16, 16);
        f.Expect(alive, 16, 16);
        alive.Dispose();
    }

    [Fact]
    public void A_wait_can_be_cancelled()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring);
        using RegisteredReader reader = f.Register();
        WaitingRing.Publish(producer, 0, 16);
        Assert.Throws<OperationCanceledException>(() => producer.Publish(1, Number(16), new CancellationToken(canceled: true)));
    }

    [Fact]
    public unsafe void The_entry_of_a_dead_process_is_taken_over_and_its_owner_continues_elsewhere()
    {
        using var f = WaitingRing.Create(consumers: 1);
        using RegisteredReader first = f.Register();
        ref long word = ref *(long*)new ConsumerTable(f.Ring).Entry(0);
        word = (word & 0xFFFF_FFFF) | (0x7FFF_FF00L << 32); // A process id beyond the kernel's limit.
        using RegisteredReader second = f.Register();
        var producer = new WaitingProducer(f.Ring);
        WaitingRing.Publish(producer, 0, 10);
        f.ExpectGap(first, 0, 0, RingGapReason.SkippedAsStale);
        Assert.False(first.IsRegistered);
        f.Expect(first, 0, 10);
        f.Expect(second, 0, 10);
    }

    [Fact]
    public unsafe void Under_wait_a_dead_claim_holds_producers_no_longer_than_readers_need_to_skip_it()
    {
        using var f = WaitingRing.Create();
        var producer = new WaitingProducer(f.Ring);
        using RegisteredReader reader = f.Register();
        long sequence = Interlocked.Increment(ref f.Ring.Head) - 1; // As a producer leaves it that dies half-way.
        *(long*)f.Ring.Slot(sequence) = -(sequence + 1);
        WaitingRing.Publish(producer, 1, 15);
        Assert.Equal(WaitingStatus.Full, producer.TryPublish(1, "x"u8));
        f.ExpectEmpty(reader);
        f.Time.Advance(TimeSpan.FromMilliseconds(100));
        f.ExpectGap(reader, 0, 1, RingGapReason.Abandoned);
        f.Expect(reader, 1, 15);
        WaitingRing.Publish(producer, 17, 1); // Number 16 meets the dead claim and is given up.
        f.Time.Advance(TimeSpan.FromMilliseconds(100));
        f.ExpectEmpty(reader);
        f.Time.Advance(TimeSpan.FromMilliseconds(100));
        f.ExpectGap(reader, 16, 1, RingGapReason.Abandoned);
        f.Expect(reader, 17, 1);
    }

    [Fact]
    public void Any_number_of_lossy_readers_read_beside_a_full_table()
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 16, Consumers = 1 });
        using RegisteredReader registered = f.Register();
        Assert.Throws<InvalidOperationException>(() => f.Register());
        EventRingReader[] readers = [.. Enumerable.Range(0, 20).Select(_ => f.Ring.CreateReader(new EventRingReaderOptions()))];
        RingFixture.Publish(f.Ring.CreateProducer(), 0, 10);
        Assert.All(readers, r => f.Expect(r, 0, 10));
        f.Expect(registered, 0, 10);
        Assert.Equal("test", Assert.Single(new ConsumerTable(f.Ring).List()).Name);
    }

    [Fact]
    public void A_ring_opened_for_reading_takes_no_registered_reader()
    {
        using var f = new RingFixture();
        Assert.Equal(EventRingOpenError.None, SharedEventRing.TryOpen(f.Path, f.Options, writable: false, out SharedEventRing? ring));
        Assert.Throws<InvalidOperationException>(() => new RegisteredReader(ring!, "test"));
        ring!.Dispose();
    }

    [Fact]
    public void A_ring_of_the_other_policy_is_refused()
    {
        using var f = new RingFixture();
        Assert.Throws<ArgumentException>(() => new WaitingProducer(f.Ring));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void An_invalid_entry_of_a_batch_costs_its_number_only(bool checksum)
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 16, Checksum = checksum, Policy = EventRingPolicy.WaitForSlowest });
        var producer = new WaitingProducer(f.Ring);
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        BatchPublishingTests.AnInvalidEntryCostsItsNumberOnly(f, reader, batch => producer.TryPublishBatch(batch));
        Assert.Equal(1, producer.Dropped);
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(3, 2)]
    public async Task Concurrent_producers_and_readers_lose_and_corrupt_nothing(int producers, int readers)
    {
        using var f = new RingFixture(new EventRingOptions
        {
            Capacity = 32,
            Policy = EventRingPolicy.WaitForSlowest,
            Checksum = false, // Torn bytes must not happen, rather than be caught.
            ClaimTimeout = TimeSpan.FromHours(1),
        });
        const int perProducer = 60_000;
        var producer = new WaitingProducer(f.Ring);
        RegisteredReader[] consumers = [.. Enumerable.Range(0, readers).Select(_ => f.Register())];
        Task[] reading = [.. consumers.Select((reader, r) => Task.Factory.StartNew(() =>
        {
            var batch = new RingBatch(8, f.Ring.MaxPayload);
            byte[] one = new byte[f.Ring.MaxPayload];
            uint[] next = new uint[producers];
            for (long n = 0; n < (long)producers * perProducer;)
            {
                RingReadStatus status;
                ReadOnlySpan<ulong> words;
                if (r == 0)
                {
                    status = reader.TryReadBatch(batch, out _);
                }
                else
                {
                    status = reader.TryRead(one, out RingEntry entry, out _);
                    batch.Clear();
                    if (status == RingReadStatus.Record)
                    {
                        batch.TryAdd(1, one.AsSpan(0, entry.Length));
                    }
                }

                Assert.NotEqual(RingReadStatus.Gap, status);
                foreach (ref readonly RingEntry entry in batch.Entries)
                {
                    words = MemoryMarshal.Cast<byte, ulong>(batch.Payload(entry));
                    Assert.Equal(20, words.Length);
                    Assert.Equal(-1, words.IndexOfAnyExcept(words[0]));
                    Assert.Equal(next[words[0] >> 32]++, (uint)words[0]);
                    n++;
                }

                if (status == RingReadStatus.Empty)
                {
                    reader.Wait(TimeSpan.FromMilliseconds(5));
                }
            }
        }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default))];
        Task[] writing = [.. Enumerable.Range(0, producers).Select(p => Task.Factory.StartNew(() =>
        {
            Span<ulong> words = stackalloc ulong[20];
            for (uint i = 0; i < perProducer; i++)
            {
                words.Fill(((ulong)p << 32) | i);
                Assert.Equal(WaitingStatus.Published, producer.Publish(1, MemoryMarshal.AsBytes(words)));
            }
        }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default))];
        await Task.WhenAll([.. reading, .. writing]).WaitAsync(TimeSpan.FromSeconds(60));
    }
}
