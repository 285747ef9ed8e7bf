using System.Buffers.Binary;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Tests.EventRing;

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
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader fast = f.Ring.CreateReader(RingFixture.Registered);
        using EventRingReader slow = f.Ring.CreateReader(RingFixture.Registered);
        RingFixture.Publish(producer, 0, 16);
        f.Expect(fast, 0, 16);
        Assert.Equal(PublishStatus.Full, producer.TryPublish(1, Number(16)));
        f.Expect(slow, 0, 1);
        RingFixture.Publish(producer, 16, 1);
        Assert.Equal(PublishStatus.Full, producer.TryPublish(1, Number(17)));
        f.Expect(slow, 1, 16);
        f.Expect(fast, 16, 1);
    }

    [Fact]
    public void A_batch_takes_the_room_there_is()
    {
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(RingFixture.Registered);
        RingBatch batch = RingFixture.Numbers(20);
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
        using var f = RingFixture.Waiting(capacity: 32);
        EventRingProducer producer = f.Ring.CreateProducer();
        RingFixture.Publish(producer, 0, 31);
        producer.TryClaim(out RingClaim claim); // Holds its slot into the next lap.
        using EventRingReader reader = f.Ring.CreateReader(RingFixture.Registered);
        RingFixture.Publish(producer, 32, 24);
        Assert.Equal(8, producer.TryPublishBatch(RingFixture.Numbers(8)));
        Assert.Equal(1, producer.Dropped);
        Assert.Equal(64, f.Ring.Head);

        Assert.True(claim.Commit(1, 8));
        f.Expect(reader, 32, 24);
        f.Expect(reader, 0, 7);
        f.ExpectEmpty(reader);
        f.Time.Advance(f.Options.ClaimTimeout);
        f.ExpectGap(reader, 63, 1, RingGapReason.Abandoned);
        RingFixture.Publish(producer, 64, 1);
        f.Expect(reader, 64, 1);
        Assert.Equal(1, producer.Dropped);
    }

    [Fact]
    public void Entries_of_the_table_that_nobody_took_block_nobody()
    {
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer();
        RingFixture.Publish(producer, 0, 1000);
        using (f.Ring.CreateReader(RingFixture.Registered))
        {
        }

        RingFixture.Publish(producer, 1000, 1000);
    }

    [Fact]
    public void A_lossy_reader_blocks_nobody()
    {
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader lossy = f.Ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(producer, 0, 100);
        f.ExpectGap(lossy, 0, 84, RingGapReason.Overwritten);
    }

    [Fact]
    public void An_idle_reader_that_polls_stays_alive_and_misses_nothing()
    {
        using var f = RingFixture.Waiting();
        EventRingReader? reader = null;
        bool read = false;
        EventRingProducer producer = f.Ring.CreateProducer(waited =>
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
        reader = f.Ring.CreateReader(RingFixture.Registered);
        for (int i = 0; i < 100; i++)
        {
            f.ExpectEmpty(reader);
            f.Time.Advance(TimeSpan.FromSeconds(10));
        }

        RingFixture.Publish(producer, 0, 16);
        Assert.Equal(PublishStatus.Published, producer.Publish(1, Number(16)));
        Assert.True(read);
        f.Expect(reader, 16, 1);
        Assert.Equal(0, reader.Missed);
        reader.Dispose();
    }

    /// <summary>A sign of life that reads nothing.</summary>
    private static void Touch(EventRingReader reader) => reader.Wait(TimeSpan.FromTicks(1), new CancellationToken(canceled: true));

    [Fact]
    public void When_every_reader_is_dead_the_producer_goes_on()
    {
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer(_ =>
        {
            f.Time.Advance(TimeSpan.FromSeconds(1));
            return true;
        });
        using EventRingReader first = f.Ring.CreateReader(RingFixture.Registered);
        using EventRingReader second = f.Ring.CreateReader(RingFixture.Registered);
        RingFixture.Publish(producer, 0, 16);
        Assert.Equal(PublishStatus.Published, producer.Publish(1, Number(16)));
        RingFixture.Publish(producer, 17, 50);
        Assert.All(f.Ring.Consumers.List(), c => Assert.True(c.IsSkipped));
    }

    [Fact]
    public void A_producer_that_never_waits_is_rid_of_a_dead_reader_and_not_of_one_that_polls()
    {
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader dead = f.Ring.CreateReader(RingFixture.Registered);
        RingFixture.Publish(producer, 0, 16);
        Assert.Equal(PublishStatus.Full, producer.TryPublish(1, Number(16)));
        f.Time.Advance(f.Options.StaleAfter - TimeSpan.FromMilliseconds(1));
        Assert.Equal(PublishStatus.Full, producer.TryPublish(1, Number(16)));
        f.Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Equal(PublishStatus.Full, producer.TryPublish(1, Number(16)));
        RingFixture.Publish(producer, 16, 1);
        Assert.All(f.Ring.Consumers.List(), c => Assert.True(c.IsSkipped));
    }

    [Fact]
    public void A_reader_that_was_skipped_is_told_so_with_its_loss_and_is_waited_for_again()
    {
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer(_ =>
        {
            f.Time.Advance(TimeSpan.FromSeconds(1));
            return true;
        });
        using EventRingReader reader = f.Ring.CreateReader(RingFixture.Registered);
        RingFixture.Publish(producer, 0, 16);
        producer.Publish(1, Number(16));
        RingFixture.Publish(producer, 17, 23);
        f.ExpectGap(reader, 0, 24, RingGapReason.SkippedAsStale);
        Assert.Equal(PublishStatus.Full, producer.TryPublish(1, Number(40)));
        f.Expect(reader, 24, 16);
        RingFixture.Publish(producer, 40, 16);
        f.Expect(reader, 40, 16);
    }

    [Fact]
    public void A_live_reader_holds_the_producer_while_a_dead_one_is_skipped()
    {
        using var f = RingFixture.Waiting();
        EventRingReader? alive = null;
        EventRingProducer producer = f.Ring.CreateProducer(waited =>
        {
            f.Time.Advance(TimeSpan.FromSeconds(1));
            Touch(alive!);
            return waited < TimeSpan.FromSeconds(30);
        });
        using EventRingReader dead = f.Ring.CreateReader(RingFixture.Registered);
        alive = f.Ring.CreateReader(RingFixture.Registered);
        RingFixture.Publish(producer, 0, 16);
        Assert.Equal(PublishStatus.Full, producer.Publish(1, Number(16)));
        Assert.Single(f.Ring.Consumers.List(), c => c.IsSkipped);
        f.Expect(alive, 0, 16);
        RingFixture.Publish(producer, 16, 16);
        f.Expect(alive, 16, 16);
        alive.Dispose();
    }

    [Fact]
    public void A_wait_can_be_cancelled()
    {
        using var f = RingFixture.Waiting();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(RingFixture.Registered);
        RingFixture.Publish(producer, 0, 16);
        Assert.Throws<OperationCanceledException>(() => producer.Publish(1, Number(16), new CancellationToken(canceled: true)));
    }

    [Fact]
    public unsafe void The_entry_of_a_dead_process_is_taken_over_and_its_owner_goes_on_elsewhere()
    {
        using var f = RingFixture.Waiting(consumers: 1);
        using EventRingReader first = f.Ring.CreateReader(RingFixture.Registered);
        ref long word = ref *(long*)f.Ring.ConsumerEntry(0);
        word = (word & 0xFFFF_FFFF) | (0x7FFF_FF00L << 32); // A process id beyond the kernel's limit.
        using EventRingReader second = f.Ring.CreateReader(RingFixture.Registered);
        EventRingProducer producer = f.Ring.CreateProducer();
        RingFixture.Publish(producer, 0, 10);
        f.ExpectGap(first, 0, 0, RingGapReason.SkippedAsStale);
        Assert.False(first.IsRegistered);
        f.Expect(first, 0, 10);
        f.Expect(second, 0, 10);
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
        EventRingProducer producer = f.Ring.CreateProducer();
        EventRingReader[] consumers = [.. Enumerable.Range(0, readers).Select(_ => f.Ring.CreateReader(RingFixture.Registered))];
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
                    words = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, ulong>(batch.Payload(entry));
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
                Assert.Equal(PublishStatus.Published, producer.Publish(1, System.Runtime.InteropServices.MemoryMarshal.AsBytes(words)));
            }
        }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default))];
        await Task.WhenAll([.. reading, .. writing]).WaitAsync(TimeSpan.FromSeconds(60));
    }
}
