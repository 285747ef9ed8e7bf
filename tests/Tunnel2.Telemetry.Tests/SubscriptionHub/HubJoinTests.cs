using System.Diagnostics.Metrics;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

public sealed class HubJoinTests : IDisposable
{
    private const int Publishers = 4;
    private const int Joiners = 5;
    private const int MessagesPerPublisher = 2_500;
    private const int Total = Publishers * MessagesPerPublisher;
    private const int Keys = 5;
    private const int ActionsPerJoiner = 150;

    /// <summary>How far messages may run ahead of the subscriptions that come and go beside them.</summary>
    private const int MessagesPerAction = Total / (Joiners * ActionsPerJoiner);

    private static readonly string[] _channels = ["a.x", "a.y", "b.x"];
    private static readonly string[] _patterns = ["a.x", "b.x", "a.*", "*.x", ">"];

    private readonly Meter _meter = new("test");
    private readonly List<IDisposable> _owned = [];
    private readonly Progress _actions = new();
    private int _published;

    public void Dispose()
    {
        _owned.Reverse();
        _owned.ForEach(o => o.Dispose());
        _meter.Dispose();
    }

    [Fact]
    public Task Several_publishers_joins_and_removals_at_once_lose_repeat_and_swap_nothing() => SeededRandom.RunAsync(async seeds =>
    {
        var hub = new Hub(new HubLimits { QueueFrames = 1 << 20 }, _meter, TimeProvider.System);
        _owned.Add(hub);
        (HubClient witness, Task<List<JsonElement>> witnessed) = Connect(hub);
        await hub.SubscribeAsync(witness, ">", static () => { });
        (HubClient Client, Task<List<JsonElement>> Frames)[] joiners = [.. Enumerable.Range(0, Joiners).Select(_ => Connect(hub))];
        int[] seed = [.. Enumerable.Range(0, Publishers + Joiners + 1).Select(_ => seeds.Next())];

        Task[] work =
        [
            .. Enumerable.Range(0, Publishers).Select(p => Start(() => Publish(hub, p, new Random(seed[p])))),
            .. joiners.Select((joiner, i) => Start(() => JoinAndLeave(hub, joiner.Client, new Random(seed[Publishers + i])))),
            Start(() => RemoveChannels(hub, new Random(seed[^1]))),
        ];
        await Task.WhenAll(work);
        foreach (HubClient client in joiners.Select(joiner => joiner.Client).Append(witness))
        {
            client.Enqueue(Mark("end", ""));
        }

        HubHistory history = HistoryOf(await witnessed);
        Assert.Equal(Total, history.Places.Count);
        Assert.All(_channels, channel => AssertEveryPublisherIsInOrder(history.Messages(channel)));
        (int Messages, int Snapshots) seen = default;
        foreach ((_, Task<List<JsonElement>> frames) in joiners)
        {
            var view = new HubView(history);
            string? fault = (await frames).Select(view.Take).FirstOrDefault(static fault => fault is not null) ?? view.End();
            Assert.True(fault is null, fault);
            seen = (seen.Messages + view.Seen.Messages, seen.Snapshots + view.Seen.Snapshots);
        }

        Assert.True(seen is { Messages: > Total / 2, Snapshots: > 100 }, $"Only {seen} were tried.");
        Assert.True(_channels.Sum(history.LastLifeOf) > 10, "Hardly a channel was removed.");
    });

    /// <summary>What the witness, subscribed from the start, got: every message, each channel's in the order of its numbers.</summary>
    private static HubHistory HistoryOf(List<JsonElement> frames)
    {
        var history = new HubHistory();
        foreach (JsonElement frame in frames)
        {
            string channel = frame.GetProperty("channel").GetString()!;
            if (frame.GetProperty("type").GetString() == "removed")
            {
                history.Remove(channel);
                continue;
            }

            Assert.Equal("message", frame.GetProperty("type").GetString());
            long data = frame.GetProperty("data").GetInt64();
            history.Add(channel, frame.GetProperty("key").GetString()!, data);
            Assert.Equal(history.Places[data].Sequence, frame.GetProperty("seq").GetInt64());
        }

        return history;
    }

    private static void AssertEveryPublisherIsInOrder(IEnumerable<(string Key, long Data)> messages)
    {
        foreach (IGrouping<long, long> ofOne in messages.Select(message => message.Data).GroupBy(data => data / MessagesPerPublisher))
        {
            Assert.Equal(ofOne.Order(), ofOne);
        }
    }

    private static byte[] Mark(string type, string pattern) =>
        WebSocketFrame.FromText(Encoding.ASCII.GetBytes($$"""{"type":"{{type}}","pattern":"{{pattern}}"}"""));

    private static Task Start(Action body) => Task.Factory.StartNew(
        body, TestContext.Current.CancellationToken, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    /// <summary>A client whose frames are read to the mark "end".</summary>
    private (HubClient Client, Task<List<JsonElement>> Frames) Connect(Hub hub)
    {
        var pair = new SocketPair();
        _owned.Add(pair);
        HubClient client = hub.Add(pair.Near);
        client.OnHeard();
        return (client, Task.Factory.StartNew(
            () =>
            {
                var frames = new List<JsonElement>();
                while (pair.ReadText() is { } frame && frame.GetProperty("type").GetString() != "end")
                {
                    frames.Add(frame);
                }

                return frames;
            },
            TestContext.Current.CancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default));
    }

    /// <summary>Its references to channels are old more often than not, so that some of them were removed.</summary>
    private void Publish(Hub hub, int publisher, Random random)
    {
        HubChannel[] channels = [.. _channels.Select(hub.GetChannel)];
        for (long i = 0; i < MessagesPerPublisher; i++)
        {
            int channel = random.Next(channels.Length);
            if (random.Next(20) == 0)
            {
                channels[channel] = hub.GetChannel(_channels[channel]);
            }

            byte[] data = Encoding.ASCII.GetBytes(((publisher * (long)MessagesPerPublisher) + i).ToString(CultureInfo.InvariantCulture));
            int receivers = hub.Publish(channels[channel], random.Next(Keys).ToString(CultureInfo.InvariantCulture), data);
            Assert.InRange(receivers, 1, Joiners + 1);
            int published = Interlocked.Increment(ref _published);
            _actions.WaitFor((published - (Total / 20) + MessagesPerAction - 1) / MessagesPerAction);
        }
    }

    /// <summary>At the end it has a subscription to everything.</summary>
    private void JoinAndLeave(Hub hub, HubClient client, Random random)
    {
        for (int i = 0; i < ActionsPerJoiner; i++)
        {
            string pattern = _patterns[random.Next(_patterns.Length)];
            if (random.Next(2) == 0)
            {
                Subscribe(hub, client, pattern);
            }
            else
            {
                hub.Unsubscribe(client, pattern);
                client.Enqueue(Mark("unsubscribed", pattern));
            }

            _actions.Increment();
            Thread.SpinWait(random.Next(20_000));
        }

        Subscribe(hub, client, ">");
    }

    private static void Subscribe(Hub hub, HubClient client, string pattern)
    {
        client.Enqueue(Mark("subscribing", pattern));
        Task<SubscribeStatus> subscribing = hub.SubscribeAsync(client, pattern, static () => { }).AsTask();

        // The queue has room for everything, so nothing waits.
        Assert.True(subscribing.IsCompletedSuccessfully);
        Assert.Equal(SubscribeStatus.Subscribed, subscribing.GetAwaiter().GetResult());
        client.Enqueue(Mark("joined", pattern));
    }

    private void RemoveChannels(Hub hub, Random random)
    {
        const int Actions = Joiners * ActionsPerJoiner;
        for (int next = 0; next < Actions; next += 5 + random.Next(20))
        {
            _actions.WaitFor(next);
            hub.RemoveChannel(hub.GetChannel(_channels[random.Next(_channels.Length)]));
        }
    }

    /// <summary>A number that threads wait for. Thread-safe.</summary>
    private sealed class Progress
    {
        private readonly object _lock = new();
        private int _value;

        internal void Increment()
        {
            lock (_lock)
            {
                _value++;
                Monitor.PulseAll(_lock);
            }
        }

        /// <summary>Returns once the number is at least so large.</summary>
        internal void WaitFor(int value)
        {
            if (Volatile.Read(ref _value) >= value)
            {
                return;
            }

            lock (_lock)
            {
                while (_value < value)
                {
                    Assert.True(Monitor.Wait(_lock, TimeSpan.FromSeconds(30)), $"It is {_value} and not {value}.");
                }
            }
        }
    }
}
