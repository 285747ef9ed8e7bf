using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Text;
using System.Text.Json;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

/// <summary>Who is paused while memory or processors are short, what a paused subscriber gets, and how it continues.</summary>
public sealed class SlowSubscribersTests : IDisposable
{
    private const int QueueFrames = 64;

    private readonly Meter _meter = new("test");
    private readonly ManualTimeProvider _time = new();
    private readonly List<IDisposable> _owned = [];
    private readonly ConcurrentQueue<Exception> _faults = [];
    private readonly Hub _hub;
    private readonly SlowSubscribers _slow;

    public SlowSubscribersTests()
    {
        _hub = new Hub(new HubLimits { QueueFrames = QueueFrames }, _meter, _time, onFault: _faults.Enqueue);
        _slow = new SlowSubscribers(_hub, _meter);
    }

    public void Dispose()
    {
        _owned.ForEach(static one => one.Dispose());
        _hub.Dispose();
        _meter.Dispose();
        Assert.Empty(_faults);
    }

    [Fact]
    public async Task A_paused_subscriber_gets_what_waits_and_the_notice_and_later_a_snapshot_and_the_messages_after_it()
    {
        HubChannel channel = _hub.GetChannel("a.b");
        (HubClient client, SocketPair pair) = await SubscribeAsync("a.*", "a.b");
        Publish(channel, 1, 20);
        _slow.Follow(isShort: true);
        Assert.Equal(1, _slow.Count);
        Publish(channel, 21, 30);
        client.OnHeard();
        Assert.Equal("snapshot 0", Next(pair));
        Assert.Equal("snapshot 0", Next(pair));
        for (int i = 1; i <= 20; i++)
        {
            Assert.Equal($"message {i}", Next(pair));
        }

        Assert.Equal("paused", Next(pair));
        _slow.Follow(isShort: false);
        Assert.Equal(0, _slow.Count);
        Assert.Equal("resumed", Next(pair));
        Assert.Equal("snapshot 30", Next(pair));
        Publish(channel, 31, 31);
        Assert.Equal("message 31", Next(pair));
    }

    [Fact]
    public async Task Messages_that_were_dropped_before_the_pause_are_reported_before_it()
    {
        HubChannel channel = _hub.GetChannel("a");
        (HubClient client, SocketPair pair) = await SubscribeAsync("a");
        Publish(channel, 1, QueueFrames + 10);
        _slow.Follow(isShort: true);

        // The queue is as full as it can be: an answer does not get in and is counted, too.
        Assert.False(client.Enqueue(WebSocketFrame.FromText("{}"u8)));
        client.OnHeard();
        Assert.Equal("snapshot 0", Next(pair));
        for (int i = 1; i < QueueFrames; i++)
        {
            Assert.Equal($"message {i}", Next(pair));
        }

        Assert.Equal("gap 11", Next(pair));
        Assert.Equal("paused", Next(pair));
        Assert.Equal("gap 1", Next(pair));
    }

    [Fact]
    public async Task The_slower_half_is_paused_first_and_the_fastest_continue_first()
    {
        (HubClient Client, SocketPair Pair)[] all = new (HubClient, SocketPair)[4];
        for (int i = 0; i < all.Length; i++)
        {
            all[i] = await SubscribeAsync($"c{i}");
            Publish(_hub.GetChannel($"c{i}"), 1, 10 * (i + 1));
        }

        (HubClient quick, _) = await SubscribeAsync("quick");
        Publish(_hub.GetChannel("quick"), 1, 3);
        List<int> counts = [];
        string[] states = [];
        foreach (bool isShort in new[] { true, true, true, true, false, false, false, false })
        {
            _slow.Follow(isShort);
            counts.Add(_slow.Count);
            states = isShort ? [.. all.Select(one => one.Client.Enqueue([0x81, 0], _hub.GetChannel("other")) ? "goes" : "paused")] : states;
            if (counts.Count == 1)
            {
                Assert.Equal(["goes", "goes", "paused", "paused"], states);
            }
        }

        Assert.Equal([2, 3, 4, 4, 2, 1, 0, 0], counts);
        Assert.All(states, static state => Assert.Equal("paused", state));
        Assert.True(quick.Enqueue([0x81, 0], _hub.GetChannel("other")));
    }

    [Fact]
    public async Task A_paused_subscriber_hears_that_a_channel_is_gone_and_gets_its_answers()
    {
        HubChannel channel = _hub.GetChannel("a");
        (HubClient client, SocketPair pair) = await SubscribeAsync("a");
        Publish(channel, 1, 10);
        _slow.Follow(isShort: true);
        _hub.RemoveChannel(channel);
        client.Enqueue(WebSocketFrame.FromText("{\"type\":\"pong\"}"u8));
        client.OnHeard();
        Assert.Equal("snapshot 0", Next(pair));
        for (int i = 1; i <= 10; i++)
        {
            Assert.Equal($"message {i}", Next(pair));
        }

        Assert.Equal(["paused", "removed", "pong"], [Next(pair), Next(pair), Next(pair)]);
        _slow.Follow(isShort: false);
        Assert.Equal("resumed", Next(pair));
        Publish(_hub.GetChannel("a"), 1, 1);
        Assert.Equal("message 1", Next(pair));
    }

    [Fact]
    public async Task A_paused_subscriber_that_leaves_is_forgotten()
    {
        (HubClient client, _) = await SubscribeAsync("a");
        Publish(_hub.GetChannel("a"), 1, 10);
        _slow.Follow(isShort: true);
        Assert.Equal(1, _slow.Count);
        _hub.Remove(client);
        _slow.Follow(isShort: true);
        Assert.Equal(0, _slow.Count);
    }

    [Fact]
    public async Task Messages_and_resuming_at_one_time_lose_and_repeat_nothing()
    {
        const int Rounds = 200;
        HubChannel channel = _hub.GetChannel("a.b");
        (HubClient client, SocketPair pair) = await SubscribeAsync("a.*");
        client.OnHeard();
        Assert.Equal("snapshot 0", Next(pair));
        using var stop = new CancellationTokenSource();
        var publisher = Task.Run(() =>
        {
            for (int i = 1; !stop.IsCancellationRequested; i++)
            {
                Publish(channel, i, i);
                while (client.Backlog >= QueueFrames / 2 && !stop.IsCancellationRequested)
                {
                    Thread.Yield();
                }
            }
        });
        long last = 0;
        int resumed = 0;
        try
        {
            Assert.True(client.TryPause());
            Task resuming = _hub.ResumeAsync(client);
            while (resumed < Rounds)
            {
                string[] words = Next(pair).Split(' ');
                switch (words[0])
                {
                    case "message":
                        Assert.Equal(last + 1, Number(words));
                        last = Number(words);
                        break;
                    case "snapshot":
                        Assert.InRange(Number(words), last, long.MaxValue);
                        last = Number(words);
                        await resuming;
                        resumed++;
                        Assert.True(client.TryPause());
                        resuming = _hub.ResumeAsync(client);
                        break;
                    default:
                        Assert.True(words[0] is "paused" or "resumed", words[0]);
                        break;
                }
            }
        }
        finally
        {
            await stop.CancelAsync();
            await publisher;
        }
    }

    private static long Number(string[] words) => long.Parse(words[1], System.Globalization.CultureInfo.InvariantCulture);

    /// <summary>Subscribes; nothing is sent until the client is heard, so the test decides what waits.</summary>
    private async Task<(HubClient Client, SocketPair Pair)> SubscribeAsync(params string[] channels)
    {
        var pair = new SocketPair();
        _owned.Add(pair);
        HubClient client = _hub.Add(pair.Near);
        foreach (string channel in channels)
        {
            if (!channel.Contains('*', StringComparison.Ordinal))
            {
                _hub.GetChannel(channel);
            }

            Assert.Equal(SubscribeStatus.Subscribed, await _hub.SubscribeAsync(client, channel, static () => { }));
        }

        return (client, pair);
    }

    private void Publish(HubChannel channel, int first, int last)
    {
        for (int i = first; i <= last; i++)
        {
            _hub.Publish(channel, "k", Encoding.ASCII.GetBytes(i.ToString(System.Globalization.CultureInfo.InvariantCulture)));
        }
    }

    /// <summary>The next message as its type and its number.</summary>
    private static string Next(SocketPair pair)
    {
        JsonElement message = pair.ReadText()!.Value;
        string type = message.GetProperty("type").GetString()!;
        return message.TryGetProperty("seq", out JsonElement seq) || message.TryGetProperty("dropped", out seq) ? $"{type} {seq}" : type;
    }
}
