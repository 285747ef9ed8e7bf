using Tunnel2.ProxyEntry.AccessLog;

namespace Tunnel2.ProxyEntry.Tests.AccessLog;

public sealed class AccessLogRingTests
{
    [Fact]
    public void A_full_ring_says_so_and_takes_again_what_was_read()
    {
        var ring = new AccessLogRing(4);
        for (var i = 0; i < 4; i++)
        {
            Assert.True(Put(ring, i));
        }

        Assert.False(Put(ring, 4));
        Assert.Equal(0, Take(ring));
        Assert.True(Put(ring, 5));
        Assert.False(Put(ring, 6));
        Assert.Equal([1, 2, 3, 5], [Take(ring), Take(ring), Take(ring), Take(ring)]);
        Assert.False(ring.TryPeek(out _));
    }

    [Fact]
    public void A_slot_that_is_claimed_but_not_published_is_not_read()
    {
        var ring = new AccessLogRing(4);
        Assert.True(ring.TryClaim(out var first));
        Put(ring, 7);

        Assert.False(ring.TryPeek(out _));
        ring.At(first).BytesIn = 6;
        ring.Publish(first);

        Assert.Equal(6, Take(ring));
        Assert.Equal(7, Take(ring));
    }

    [Fact]
    public async Task Several_producers_lose_nothing_and_each_keeps_its_order()
    {
        const int Producers = 3;
        const int Each = 20_000;
        var ring = new AccessLogRing(64);
        var producers = Enumerable.Range(0, Producers).Select(producer => Task.Run(() =>
        {
            for (var i = 0; i < Each; i++)
            {
                while (!Put(ring, (producer * Each) + i))
                {
                    Thread.Yield();
                }
            }
        })).ToArray();

        var next = new long[Producers];
        for (var taken = 0; taken < Producers * Each;)
        {
            if (!ring.TryPeek(out _))
            {
                Assert.DoesNotContain(producers, producer => producer.IsFaulted);
                Thread.Yield();
                continue;
            }

            var value = Take(ring);
            Assert.Equal(next[value / Each]++, value % Each);
            taken++;
        }

        await Task.WhenAll(producers);
        Assert.False(ring.TryPeek(out _));
        Assert.Equal(0, ring.Count);
    }

    private static bool Put(AccessLogRing ring, long value)
    {
        if (!ring.TryClaim(out var position))
        {
            return false;
        }

        ring.At(position).BytesIn = value;
        ring.Publish(position);
        return true;
    }

    private static long Take(AccessLogRing ring)
    {
        Assert.True(ring.TryPeek(out var position));
        var value = ring.At(position).BytesIn;
        ring.Advance();
        return value;
    }
}
