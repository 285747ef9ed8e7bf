using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Tests.Threading;

public class ShortLockTests
{
    private readonly ShortLock _lock = new();
    private int _inside;
    private long _count;

    [Fact]
    public void One_thread_at_a_time_is_inside_and_sees_what_the_last_one_wrote()
    {
        const int Threads = 8;
        const int Rounds = 50_000;
        var together = 0;
        using var start = new Barrier(Threads);
        var threads = Enumerable.Range(0, Threads).Select(_ => new Thread(() =>
        {
            start.SignalAndWait();
            for (var i = 0; i < Rounds; i++)
            {
                using (_lock.EnterScope())
                {
                    if (++_inside != 1)
                    {
                        Interlocked.Increment(ref together);
                    }

                    if (i % 1000 == 0)
                    {
                        // The others try to enter now, also where there is one processor.
                        Thread.Yield();
                    }

                    _count++;
                    _inside--;
                }
            }
        })).ToList();
        threads.ForEach(static thread => thread.Start());
        threads.ForEach(static thread => thread.Join());
        Assert.Equal((0, (long)Threads * Rounds), (together, _count));
    }

    [Fact]
    public void A_section_that_throws_leaves()
    {
        Assert.Throws<InvalidOperationException>(Fail);
        var other = new Thread(() =>
        {
            using (_lock.EnterScope())
            {
                _count++;
            }
        });
        other.Start();
        other.Join();
        Assert.Equal(1, _count);
    }

    private void Fail()
    {
        using (_lock.EnterScope())
        {
            throw new InvalidOperationException();
        }
    }
}
