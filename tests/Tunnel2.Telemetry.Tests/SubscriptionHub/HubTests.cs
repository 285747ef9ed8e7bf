using System.Diagnostics.Metrics;
using System.Text;
using System.Text.Json;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

public sealed class HubTests : IDisposable
{
    private readonly Meter _meter = new("test");
    private readonly ManualTimeProvider _time = new();
    private readonly List<IDisposable> _owned = [];

    public void Dispose()
    {
        _owned.Reverse();
        _owned.ForEach(o => o.Dispose());
        _meter.Dispose();
    }

    private Hub Create(HubLimits? limits = null, bool manual = false)
    {
        var hub = new Hub(limits ?? new HubLimits(), _meter, manual ? _time : TimeProvider.System);
        _owned.Add(hub);
        return hub;
    }

    private (HubClient Client, SocketPair Pair) Connect(Hub hub, int receiveBuffer = 0)
    {
        var pair = new SocketPair(receiveBuffer);
        _owned.Add(pair);
        HubClient client = hub.Add(pair.Near);
        client.OnHeard();
        return (client, pair);
    }

    private static ReadOnlyMemory<byte> Number(long n) =>
        Encoding.ASCII.GetBytes(n.ToString(System.Globalization.CultureInfo.InvariantCulture));

    [Fact]
    public async Task What_throws_on_the_senders_thread_ends_neither_it_nor_the_others()
    {
        var faults = new AsyncCounter("faults on the sender's thread");
        var hub = new Hub(
            new HubLimits(), _meter, TimeProvider.System, static _ => throw new InvalidTimeZoneException(), _ => faults.Increment());
        _owned.Add(hub);
        HubChannel channel = hub.GetChannel("a");
        (HubClient client, SocketPair pair) = Connect(hub);
        await hub.SubscribeAsync(client, "a", static () => { });
        await faults.WaitForAsync(2);
        hub.Publish(channel, "k", Number(1));
        Assert.NotNull(pair.ReadText());
    }

    [Theory]
    [InlineData("a.*")]
    [InlineData("a.c0")]
    [InlineData(">")]
    public async Task Snapshot_and_live_messages_are_complete_in_order_and_without_repeats(string pattern)
    {
        const int Publishers = 4;
        const int Subscribers = 8;
        const int Messages = 3000;
        Hub hub = Create(new HubLimits { QueueFrames = 1 << 20 });
        HubChannel[] channels = [.. Enumerable.Range(0, Publishers).Select(i => hub.GetChannel($"a.c{i}"))];
        using var start = new ManualResetEventSlim();
        var joinAt = new Random(7);
        var tasks = new List<Task>();
        for (int p = 0; p < Publishers; p++)
        {
            HubChannel channel = channels[p];
            tasks.Add(Task.Run(() =>
            {
                start.Wait();
                for (int i = 1; i <= Messages; i++)
                {
                    hub.Publish(channel, (i % 3).ToString(System.Globalization.CultureInfo.InvariantCulture), Number(i));
                }
            }));
        }

        for (int s = 0; s < Subscribers; s++)
        {
            (HubClient client, SocketPair pair) = Connect(hub);
            int spin = joinAt.Next(200_000);
            tasks.Add(Task.Run(async () =>
            {
                start.Wait();
                Thread.SpinWait(spin);
                await hub.SubscribeAsync(client, pattern, () => { });
                int wanted = pattern == "a.c0" ? 1 : Publishers;
                var last = new Dictionary<string, long>();
                while (last.Count(l => l.Value == Messages) < wanted)
                {
                    JsonElement message = pair.ReadText()!.Value;
                    string channel = message.GetProperty("channel").GetString()!;
                    long seq = message.GetProperty("seq").GetInt64();
                    if (message.GetProperty("type").GetString() == "snapshot")
                    {
                        Assert.False(last.ContainsKey(channel), "one snapshot a channel, before its messages");
                        // The latest message of each of the three keys.
                        long[] seqs = [.. message.GetProperty("messages").EnumerateArray().Select(m => m.GetProperty("seq").GetInt64())];
                        Assert.Equal([.. Enumerable.Range(0, seqs.Length).Select(i => seq - seqs.Length + 1 + i)], seqs);
                    }
                    else
                    {
                        Assert.Equal(last[channel] + 1, seq);
                        Assert.Equal(seq, message.GetProperty("data").GetInt64());
                    }

                    last[channel] = seq;
                }
            }));
        }

        start.Set();
        await Task.WhenAll(tasks).WaitAsync(TimeSpan.FromSeconds(40));
    }

    [Fact]
    public async Task Overlapping_subscriptions_bring_a_message_once()
    {
        Hub hub = Create();
        HubChannel channel = hub.GetChannel("a.b");
        (HubClient client, SocketPair pair) = Connect(hub);
        await hub.SubscribeAsync(client, "a.b", () => { });
        await hub.SubscribeAsync(client, "a.*", () => { });
        Assert.Equal(1, hub.Publish(channel, "k", Number(1)));
        Assert.Equal(1, hub.Publish(channel, "k", Number(2)));
        Assert.Equal(
            ["snapshot", "snapshot", "message", "message"],
            Enumerable.Range(0, 4).Select(_ => pair.ReadText()!.Value.GetProperty("type").GetString()));
    }

    [Fact]
    public async Task A_client_that_reads_nothing_loses_only_its_own_messages_and_learns_how_many()
    {
        Hub hub = Create(new HubLimits { QueueFrames = 16, WriteLimit = TimeSpan.FromMinutes(1) });
        HubChannel channel = hub.GetChannel("a");
        (HubClient slow, SocketPair slowPair) = Connect(hub, receiveBuffer: 4096);
        (HubClient quick, SocketPair quickPair) = Connect(hub);
        await hub.SubscribeAsync(slow, "a", () => { });
        await hub.SubscribeAsync(quick, "a", () => { });
        Assert.Equal("snapshot", quickPair.ReadText()!.Value.GetProperty("type").GetString());
        byte[] large = Encoding.ASCII.GetBytes($"\"{new string('x', 20_000)}\"");
        for (int i = 1; i <= 200; i++)
        {
            hub.Publish(channel, "k", large);
            Assert.Equal(i, quickPair.ReadText()!.Value.GetProperty("seq").GetInt64());
        }

        Assert.True(slow.TotalDropped > 100);
        long expected = 0;
        long dropped = 0;
        while (true)
        {
            JsonElement message = slowPair.ReadText()!.Value;
            string type = message.GetProperty("type").GetString()!;
            if (type == "gap")
            {
                dropped = message.GetProperty("dropped").GetInt64();
                break;
            }

            Assert.Equal(type == "snapshot" ? 0 : ++expected, message.GetProperty("seq").GetInt64());
        }

        Assert.Equal(slow.TotalDropped, dropped);
        hub.Publish(channel, "k", Number(1));
        Assert.Equal(expected + dropped + 1, slowPair.ReadText()!.Value.GetProperty("seq").GetInt64());
    }

    [Fact]
    public async Task The_third_overflow_in_a_row_closes_with_1008()
    {
        Hub hub = Create(new HubLimits { QueueFrames = 8 });
        HubChannel channel = hub.GetChannel("a");
        (HubClient slow, SocketPair pair) = Connect(hub, receiveBuffer: 4096);
        await hub.SubscribeAsync(slow, "a", () => { });
        byte[] large = Encoding.ASCII.GetBytes($"\"{new string('x', 60_000)}\"");
        for (int episode = 1; episode <= 3; episode++)
        {
            long before = slow.TotalDropped;
            for (int i = 0; i < 10_000 && slow.TotalDropped == before; i++)
            {
                hub.Publish(channel, "k", large);
            }

            Assert.True(slow.TotalDropped > before);
            while (pair.ReadFrame() is var (opcode, payload) && !(opcode == 1 && payload.AsSpan().StartsWith("{\"type\":\"gap\""u8)))
            {
                if (opcode == 8)
                {
                    Assert.Equal(3, episode);
                    Assert.Equal(1008, (payload[0] << 8) | payload[1]);
                    return;
                }
            }
        }

        Assert.Fail("It was not closed.");
    }

    /// <summary>It does not read its close frame either, so it reaches another limit before it is gone.</summary>
    [Fact]
    public async Task A_subscriber_that_is_cut_off_counts_once()
    {
        var reasons = new List<string?>();
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (ReferenceEquals(instrument.Meter, _meter) && instrument.Name == "tunnel2.hub.cut")
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((_, _, tags, _) => reasons.Add(tags[0].Value as string));
        listener.Start();
        Hub hub = Create(new HubLimits { QueueFrames = 8 });
        HubChannel channel = hub.GetChannel("a");
        (HubClient slow, SocketPair pair) = Connect(hub, receiveBuffer: 4096);
        await hub.SubscribeAsync(slow, "a", () => { });
        byte[] large = Encoding.ASCII.GetBytes($"\"{new string('x', 60_000)}\"");
        for (int episode = 1; episode <= 3; episode++)
        {
            long before = slow.TotalDropped;
            while (slow.TotalDropped == before)
            {
                hub.Publish(channel, "k", large);
            }

            while (episode < 3
                && pair.ReadFrame() is var (opcode, payload) && !(opcode == 1 && payload.AsSpan().StartsWith("{\"type\":\"gap\""u8)))
            {
            }
        }

        slow.Look(hub.Now + 3_600_000);
        Assert.True(slow.IsClosed);
        Assert.Equal("slow", Assert.Single(reasons));
    }

    [Fact]
    public void A_silent_client_is_pinged_after_27_seconds_and_cut_off_after_30()
    {
        Hub hub = Create(manual: true);
        (HubClient client, SocketPair pair) = Connect(hub);
        _time.Advance(TimeSpan.FromSeconds(28));
        Assert.Equal(9, pair.ReadFrame().Opcode);
        client.OnHeard();
        _time.Advance(TimeSpan.FromSeconds(28));
        Assert.Equal(9, pair.ReadFrame().Opcode);
        _time.Advance(TimeSpan.FromSeconds(3));
        Assert.Equal(-1, pair.ReadFrame().Opcode);
        Assert.True(client.IsClosed);
    }

    [Fact]
    public async Task A_client_whose_socket_takes_nothing_is_cut_off_after_the_write_limit()
    {
        var cut = new TaskCompletionSource<string?>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (ReferenceEquals(instrument.Meter, _meter) && instrument.Name == "tunnel2.hub.cut")
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        listener.SetMeasurementEventCallback<long>((_, _, tags, _) => cut.TrySetResult(tags[0].Value as string));
        listener.Start();
        Hub hub = Create(new HubLimits { QueueFrames = 64, WriteLimit = TimeSpan.FromMilliseconds(300) });
        HubChannel channel = hub.GetChannel("a");
        (HubClient slow, SocketPair pair) = Connect(hub, receiveBuffer: 4096);
        await hub.SubscribeAsync(slow, "a", () => { });
        byte[] large = Encoding.ASCII.GetBytes($"\"{new string('x', 100_000)}\"");
        for (int i = 0; i < 40; i++)
        {
            hub.Publish(channel, "k", large);
        }

        Assert.Equal("blocked", await cut.Task.WaitAsync(TimeSpan.FromSeconds(20)));

        // What the kernel had taken is still there to read, and then the end.
        pair.ReadToEnd();
        Assert.True(slow.IsClosed);
    }

    [Fact]
    public async Task Counters_equal_reality_after_any_churn()
    {
        Hub hub = Create();
        hub.GetChannel("a.b");
        await Parallel.ForAsync(0, 200, async (i, _) =>
        {
            using var pair = new SocketPair();
            HubClient client = hub.Add(pair.Near);
            client.OnHeard();
            await hub.SubscribeAsync(client, i % 2 == 0 ? "a.*" : "a.b", () => { });
            if (i % 3 == 0)
            {
                hub.Unsubscribe(client, "a.b");
            }

            hub.Remove(client);
        });
        Assert.Equal(0, hub.Connections);
        Assert.False(hub.HasSubscribers("a.b"));
    }

    [Fact]
    public async Task More_subscriptions_than_allowed_are_refused()
    {
        Hub hub = Create(new HubLimits { Subscriptions = 2 });
        (HubClient client, _) = Connect(hub);
        Assert.Equal(SubscribeStatus.Subscribed, await hub.SubscribeAsync(client, "a", () => { }));
        Assert.Equal(SubscribeStatus.Subscribed, await hub.SubscribeAsync(client, "b", () => { }));
        Assert.Equal(SubscribeStatus.TooMany, await hub.SubscribeAsync(client, "c", () => { }));
        Assert.Equal(SubscribeStatus.InvalidChannel, await hub.SubscribeAsync(Connect(hub).Client, "a.>.b", () => { }));
    }

    [Theory]
    [InlineData("a.b", "a.b", true)]
    [InlineData("a.*", "a.b", true)]
    [InlineData("a.*", "a", false)]
    [InlineData("a.*", "a.b.c", false)]
    [InlineData("*.b", "a.b", true)]
    [InlineData("a.>", "a.b.c", true)]
    [InlineData("a.>", "a", false)]
    [InlineData(">", "a.b", true)]
    [InlineData("a.b.c", "a.b", false)]
    public void A_pattern_matches_what_the_index_says_it_matches(string pattern, string channel, bool matches)
    {
        Assert.Equal(matches, ChannelName.Matches(pattern, channel));
        var index = new SubscriptionIndex();
        index.Add(new TestSubscriber(1), pattern);
        var found = new SubscriberMatches();
        index.Get(channel, found);
        Assert.Equal(matches, !found.IsEmpty);
    }
}
