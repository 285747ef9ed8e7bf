using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Text;
using Tunnel2.Laboratory.MessageStore;
using Tunnel2.LiveBenchmarks.MessageStore;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>
/// A hub of the product with another lock strategy in its channels: publishers that publish to one channel at the same time, subscribers on
/// real sockets, and one more client that subscribes to the channel again and again.
/// </summary>
internal sealed class HubPublishRun : IDisposable
{
    private const int Keys = 20;
    private const int DataBytes = 300;

    /// <summary>How often in a run the joining client subscribes.</summary>
    private const int Joins = 50;

    private readonly Meter _meter = new("benchmark");
    private readonly List<Sink> _sinks = [];
    private readonly Hub _hub;
    private readonly HubChannel _channel;
    private readonly HubClient[] _subscribers;
    private readonly HubClient _joiner;
    private readonly string[] _keys = [.. Enumerable.Range(0, Keys).Select(static i => i.ToString(CultureInfo.InvariantCulture))];
    private readonly byte[] _data = Encoding.ASCII.GetBytes($"\"{new string('x', DataBytes - 2)}\"");
    private int _awake;
    private int _go;
    private int _published;

    public HubPublishRun(string strategy, int subscribers, int messages)
    {
        _hub = new Hub(
            new HubLimits { QueueFrames = 4 * messages },
            _meter,
            TimeProvider.System,
            stores: observer => StoreStrategy.Create(
                strategy, Keys, StoreStrategy.StripesOf(strategy) > 1 ? new OneAfterAnother<HubMessage>(observer) : observer));
        _channel = _hub.GetChannel("session.web.requests");
        _subscribers = [.. Enumerable.Range(0, subscribers).Select(_ => Connect())];
        foreach (HubClient subscriber in _subscribers)
        {
            Subscribe(subscriber);
        }

        _joiner = Connect();
    }

    /// <summary>Publishes and waits until every subscriber has every message.</summary>
    /// <param name="publishers">Threads that publish at the same time.</param>
    /// <param name="messages">Of all of them together.</param>
    /// <returns>
    /// How long each publish took, in ticks of <see cref="Stopwatch"/>, and all of them together; and the processor time of the publishers,
    /// the hub and the subscribers.
    /// </returns>
    public (long[] Ticks, TimeSpan Elapsed, TimeSpan Processor) Publish(int publishers, int messages)
    {
        int perThread = messages / publishers;
        messages = perThread * publishers;
        var ticks = new long[messages];
        (_awake, _go, _published) = (0, 0, 0);
        Thread[] threads =
        [
            .. Enumerable.Range(0, publishers).Select(p => new Thread(() => PublishAll(ticks.AsSpan(p * perThread, perThread)))),
            new Thread(() => JoinAgainAndAgain(messages)),
        ];
        Array.ForEach(threads, static thread => thread.Start());
        while (Volatile.Read(ref _awake) != threads.Length)
        {
            Thread.Yield();
        }

        GC.Collect();
        TimeSpan processor = Environment.CpuUsage.TotalTime;
        long start = Stopwatch.GetTimestamp();
        Volatile.Write(ref _go, 1);
        Array.ForEach(threads, static thread => thread.Join());
        TimeSpan elapsed = Stopwatch.GetElapsedTime(start);
        _sinks.ForEach(sink => sink.WaitFor(_channel.SequenceUnsynchronized));

        return (ticks, elapsed, Environment.CpuUsage.TotalTime - processor);
    }

    public void Dispose()
    {
        _hub.Dispose();
        _sinks.ForEach(static sink => sink.Dispose());
        _meter.Dispose();
    }

    private HubClient Connect()
    {
        var sink = new Sink();
        _sinks.Add(sink);
        HubClient client = _hub.Add(sink.Near);
        client.OnHeard();
        return client;
    }

    private void Subscribe(HubClient client)
    {
        if (_hub.SubscribeAsync(client, _channel.Name, static () => { }).AsTask().GetAwaiter().GetResult() != SubscribeStatus.Subscribed)
        {
            throw new InvalidOperationException("It could not subscribe.");
        }
    }

    private void WaitForGo()
    {
        Interlocked.Increment(ref _awake);
        while (Volatile.Read(ref _go) == 0)
        {
            Thread.Yield();
        }
    }

    private void PublishAll(Span<long> ticks)
    {
        WaitForGo();
        for (int i = 0; i < ticks.Length; i++)
        {
            long start = Stopwatch.GetTimestamp();
            int receivers = _hub.Publish(_channel, _keys[i % Keys], _data);
            ticks[i] = Stopwatch.GetTimestamp() - start;
            if (receivers < _subscribers.Length)
            {
                throw new InvalidOperationException("A subscriber was left out.");
            }

            Interlocked.Increment(ref _published);
        }
    }

    private void JoinAgainAndAgain(int messages)
    {
        WaitForGo();
        for (int join = 0; join < Joins; join++)
        {
            while (Volatile.Read(ref _published) < messages / Joins * join)
            {
                Thread.Sleep(1);
            }

            Subscribe(_joiner);
        }
    }
}
