using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Tests.RateLimits;

public sealed class TokenBucketTests
{
    private const long Second = 1_000_000;

    [Fact]
    public void Holds_its_size_and_earns_its_rate()
    {
        var bucket = new TokenBucket(Second, 0, rate: 10, size: 3);
        Assert.Equal(3, Take(bucket, 0, 10));
        Assert.Equal(1, Take(bucket, Second / 10, 10));
        Assert.Equal(0, Take(bucket, Second / 10, 10));
        Assert.Equal(2, Take(bucket, 3 * Second / 10, 10));
        Assert.Equal(3, Take(bucket, 100 * Second, 10));
        Assert.Equal(0, bucket.Left(100 * Second), 6);
        Assert.Equal(0.5, bucket.Left((100 * Second) + (Second / 20)), 6);
        Assert.Equal(3, bucket.Left(200 * Second), 6);
    }

    [Fact]
    public void A_change_of_pace_keeps_tokens_that_fit_and_gives_none()
    {
        var bucket = new TokenBucket(Second, 0, rate: 100, size: 10);
        Assert.Equal(6, Take(bucket, 0, 6));
        bucket.Change(0, rate: 10, size: 20);
        Assert.Equal(4, bucket.Left(0), 4);
        Assert.Equal(4, Take(bucket, 0, 10));
        Assert.Equal(10, Take(bucket, Second, 100));
        bucket.Change(2 * Second, rate: 1, size: 2);
        Assert.Equal(2, Take(bucket, 2 * Second, 10));
        Assert.Equal(1, Take(bucket, 3 * Second, 10));
        bucket.Change(3 * Second, rate: 1000, size: 1000);
        Assert.Equal(0, Take(bucket, 3 * Second, 10));
        Assert.Equal(500, Take(bucket, (3 * Second) + (Second / 2), 5000));
    }

    [Fact]
    public void Threads_get_together_what_there_is_also_while_the_pace_changes()
    {
        const int Threads = 4;
        var bucket = new TokenBucket(Second, 0, rate: 1, size: 100_000);
        var taken = 0;
        Parallel.For(0, Threads + 1, thread =>
        {
            for (var i = 0; thread == 0 && i < 1000; i++)
            {
                bucket.Change(0, rate: 1 + (i % 7), size: 100_000);
            }

            for (var i = 0; thread > 0 && i < 30_000; i++)
            {
                if (bucket.TryTake(0))
                {
                    Interlocked.Increment(ref taken);
                }
            }
        });

        // One that still sees the pace from before may be counted by it.
        Assert.InRange(taken, 90_000, 110_000);
    }

    private static int Take(TokenBucket bucket, long now, int wanted)
    {
        var taken = 0;
        while (taken < wanted && bucket.TryTake(now))
        {
            taken++;
        }

        return taken;
    }
}
