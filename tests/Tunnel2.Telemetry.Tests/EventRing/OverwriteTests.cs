using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Telemetry.Tests.EventRing;

public sealed class OverwriteTests
{
    [Fact]
    public void A_lapped_reader_learns_exactly_how_many_it_lost_and_continues_from_the_oldest()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        RingFixture.Publish(producer, 0, 3);
        f.Expect(reader, 0, 3);
        RingFixture.Publish(producer, 3, 100);
        f.ExpectGap(reader, 3, 84, RingGapReason.Overwritten);
        f.Expect(reader, 87, 16);
        f.ExpectEmpty(reader);
        Assert.Equal(84, reader.Missed);
    }

    [Fact]
    public void A_reader_that_attaches_late_starts_where_it_asked_to()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        RingFixture.Publish(producer, 0, 20);
        using EventRingReader head = f.Ring.CreateReader(new EventRingReaderOptions());
        using EventRingReader oldest = f.Ring.CreateReader(RingFixture.Oldest);
        using EventRingReader number = f.Ring.CreateReader(new EventRingReaderOptions { From = 10 });
        using EventRingReader lost = f.Ring.CreateReader(new EventRingReaderOptions { From = 1 });
        using EventRingReader future = f.Ring.CreateReader(new EventRingReaderOptions { From = 1000 });
        f.ExpectEmpty(head);
        f.Expect(oldest, 4, 16);
        f.Expect(number, 10, 10);
        f.ExpectGap(lost, 1, 3, RingGapReason.Overwritten);
        f.Expect(lost, 4, 16);
        f.ExpectEmpty(future);
        RingFixture.Publish(producer, 20, 1);
        f.Expect(head, 20, 1);
        f.Expect(future, 20, 1);
    }

    [Fact]
    public void At_any_pace_records_and_gaps_cover_every_number_once()
    {
        Gen<int[]> steps = Gen.Choose(-40, 40).ArrayOf(200);
        Prop.ForAll(steps.ToArbitrary(), moves =>
        {
            using var f = new RingFixture();
            EventRingProducer producer = f.Ring.CreateProducer();
            using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
            long published = 0;
            long next = 0;
            foreach (int move in moves)
            {
                if (move > 0)
                {
                    RingFixture.Publish(producer, published, move);
                    published += move;
                }

                for (int i = move; i < 0; i++)
                {
                    RingReadStatus status = reader.TryRead(f.Buffer, out RingEntry entry, out RingGap gap);
                    if (status == RingReadStatus.Record)
                    {
                        Assert.Equal(next, entry.Sequence);
                        Assert.Equal(next, BitConverter.ToInt64(f.Buffer));
                        next++;
                    }
                    else if (status == RingReadStatus.Gap)
                    {
                        Assert.Equal(next, gap.First);
                        // One slot of margin when it was lapped twice without reading.
                        Assert.InRange(gap.First + gap.Count, published - 16, published - 15);
                        next += gap.Count;
                    }
                    else
                    {
                        Assert.Equal(published, next);
                    }
                }
            }
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(50));
    }

    [Fact]
    public async Task Concurrent_producers_that_lap_a_reader_never_show_it_a_torn_record()
    {
        // Long records in few slots, without checksums: a copy often has a producer in the middle of it.
        using var f = new RingFixture(new EventRingOptions { Capacity = 4, SlotSize = 32_768, Checksum = false });
        const int perProducer = 20_000;
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        Task[] producers = [.. Enumerable.Range(1, 2).Select(p => Task.Run(() =>
        {
            ulong[] words = new ulong[4000];
            for (uint i = 0; i < perProducer; i++)
            {
                Array.Fill(words, ((ulong)p << 32) | i);
                producer.TryPublish(1, System.Runtime.InteropServices.MemoryMarshal.AsBytes(words.AsSpan()));
            }
        }))];
        Task all = Task.WhenAll(producers);
        var batch = new RingBatch(16, f.Ring.MaxPayload);
        uint[] last = new uint[3];
        long records = 0;
        long missed = 0;
        while (true)
        {
            bool ended = all.IsCompleted;
            RingReadStatus status = reader.TryReadBatch(batch, out RingGap gap);
            missed += gap.Count;
            foreach (ref readonly RingEntry entry in batch.Entries)
            {
                ReadOnlySpan<ulong> words = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, ulong>(batch.Payload(entry));
                Assert.Equal(-1, words.IndexOfAnyExcept(words[0]));
                uint number = (uint)words[0] + 1;
                Assert.True(number > last[words[0] >> 32], "A producer's records came out of order.");
                last[words[0] >> 32] = number;
                records++;
            }

            if (ended && reader.Cursor == f.Ring.Head)
            {
                break;
            }

            // Not while they publish: a producer that loses its processor in the middle of a record keeps its slot for the claim timeout,
            // and this clock would let that pass at once.
            f.Time.Advance(TimeSpan.FromMilliseconds(ended && status == RingReadStatus.Empty ? 1 : 0));
        }

        await all;
        Assert.Equal(f.Ring.Head, records + missed);
        Assert.InRange(records, 1, 2 * perProducer);
    }
}
