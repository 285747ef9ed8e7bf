using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Telemetry.Tests.EventRing;
using Tunnel2.Telemetry.Tests.SubscriptionHub;

namespace Tunnel2.Budgets.Tests.Telemetry;

/// <summary>What runs for each record of the live plane allocates nothing.</summary>
public sealed class LivePlaneBudgetTests
{
    private const long T0 = 1_767_225_600_000_000; // A whole minute.

    private readonly SubscriptionIndex _index = new();
    private readonly SubscriberMatches _matches = new();

    [Fact]
    public void Publishing_and_polling_allocate_nothing()
    {
        using var f = new RingFixture();
        EventRingProducer producer = f.Ring.CreateProducer();
        using EventRingReader reader = f.Ring.CreateReader(new EventRingReaderOptions());
        byte[] payload = new byte[100];
        var batch = new RingBatch(8, f.Ring.MaxPayload);
        long before = 0;
        for (int i = 0; i < 2000; i++)
        {
            if (i == 1000)
            {
                before = GC.GetAllocatedBytesForCurrentThread();
            }

            producer.TryPublish(1, payload);
            producer.TryPublish(1, payload);
            reader.TryRead(f.Buffer, out _, out _);
            reader.TryReadBatch(batch, out _);
            reader.TryRead(f.Buffer, out _, out _);
        }

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [Fact]
    public void Lookups_allocate_nothing()
    {
        for (int i = 0; i < 100; i++)
        {
            _index.Add(new TestSubscriber(i), "session.a.stats");
        }

        _index.Add(new TestSubscriber(100), "session.*.stats");
        _index.Add(new TestSubscriber(101), "session.>");
        Assert.Equal(102, Walk());

        long before = GC.GetAllocatedBytesForCurrentThread();
        int found = Walk();
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
        Assert.Equal(102, found);

        int Walk()
        {
            _index.Get("session.a.stats", _matches);
            int count = 0;
            foreach (Subscriber subscriber in _matches)
            {
                count += subscriber.IsRemoved ? 0 : 1;
            }

            return count;
        }
    }

    [Fact]
    public void In_steady_state_neither_counting_nor_closing_windows_allocates()
    {
        var state = new WindowedState(new NoSink());
        var batch = new RequestSample[1000];
        long before = 0;
        for (int second = 0; second < 300; second++)
        {
            if (second == 200)
            {
                before = GC.GetAllocatedBytesForCurrentThread();
            }

            for (int i = 0; i < batch.Length; i++)
            {
                batch[i] = At(second, i % 100);
            }

            state.Process(batch);
        }

        // 100,000 records, and windows of each length that were closed in that time.
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [Fact]
    public void A_reading_leaves_next_to_nothing_behind()
    {
        var usage = new ContainerUsage(TimeProvider.System);
        for (int i = 0; i < 100; i++)
        {
            usage.Read();
        }

        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 100; i++)
        {
            usage.Read();
        }

        // Handles of the files; lines of text as strings would be 20 KB a reading.
        Assert.InRange((GC.GetAllocatedBytesForCurrentThread() - before) / 100, 0, 2048);
    }

    private static RequestSample At(double seconds, int key) => new(T0 + (long)(seconds * 1e6), key, 100, 1, 2, 0);

    private sealed class NoSink : IWindowSink
    {
        public void OnWindow(int key, long start, int seconds, WindowCell cell)
        {
        }
    }
}
