using System.Diagnostics.Metrics;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The result of subscribing.</summary>
internal enum SubscribeStatus
{
    Subscribed = 0,

    /// <summary>Neither a channel name nor a pattern.</summary>
    InvalidChannel,

    /// <summary>The client has reached its limit of subscriptions.</summary>
    TooMany,
}

/// <summary>
/// Channels, their subscribers, and their latest messages. A message becomes a frame once for all its receivers. Safe on any thread.
/// </summary>
/// <remarks>
/// <b>Joining.</b> At one moment, with the gate of the channels held, a new subscription is added to the index and the existing channels
/// that match it are listed; without that gate no channel is added or removed. The client gets the snapshot of each listed channel, and
/// that channel's messages only after it: the store's lock decides. A channel that is added later begins with its first message.
/// <b>Lock order.</b> The gate of the channels; then a channel's store; then the index's locks; then a client's queue; then the sender's.
/// </remarks>
internal sealed class Hub : IDisposable
{
    /// <summary>A ping without payload.</summary>
    internal static readonly byte[] PingFrame = WebSocketFrame.Control(WebSocketFrame.Ping, default);

    [ThreadStatic]
    private static SubscriberMatches? _matches;

    private readonly SubscriptionIndex _index = new();
    private readonly Lock _channelsGate = new();
    private readonly Dictionary<string, HubChannel> _channels = new(StringComparer.Ordinal);
    private readonly HashSet<HubClient> _clients = [];
    private readonly Lock _clientsGate = new();
    private readonly TimeProvider _time;
    private readonly Func<IMessageObserver<HubMessage>, IMessageStore<HubMessage>> _stores;
    private readonly Action<long>? _onLook;
    private readonly Action<Exception>? _onFault;
    private int _connections;
    private long _version;

    /// <param name="limits">The limits.</param>
    /// <param name="meter">The meter for the hub's instruments.</param>
    /// <param name="time">The clock.</param>
    /// <param name="onLook">Called a few times a second on the sender's thread; may be null.</param>
    /// <param name="onFault">Called with faults of our own that the sender's thread has survived; may be null.</param>
    /// <param name="stores">Makes the store of a channel, to compare locks; null for the product's own.</param>
    internal Hub(
        HubLimits limits,
        Meter meter,
        TimeProvider time,
        Action<long>? onLook = null,
        Action<Exception>? onFault = null,
        Func<IMessageObserver<HubMessage>, IMessageStore<HubMessage>>? stores = null)
    {
        _stores = stores ?? (static observer => new StripedMessageStore<HubMessage>(stripes: 1, observer: observer));
        _onFault = onFault;
        Limits = limits;
        _time = time;
        _onLook = onLook;
        Metrics = new HubMetrics(meter, () => Connections);
        Sender = new HubSender(this);
        Sender.Start();
    }

    internal HubLimits Limits { get; }

    internal HubMetrics Metrics { get; }

    internal HubSender Sender { get; }

    /// <summary>Milliseconds of a monotonic clock.</summary>
    internal long Now => (long)(_time.GetTimestamp() * (1000.0 / _time.TimestampFrequency)) + 1;

    /// <summary>Clients that are connected.</summary>
    internal int Connections => Volatile.Read(ref _connections);

    /// <summary>Changes with every subscription that begins or ends.</summary>
    internal long SubscriptionVersion => Volatile.Read(ref _version);

    /// <summary>A connection was upgraded; <see cref="Remove"/> must follow exactly once.</summary>
    internal HubClient Add(Socket socket) => Add(new SocketSink(socket));

    /// <summary>The same for a connection of another kind.</summary>
    /// <param name="sink">Where its frames go.</param>
    /// <param name="isNode">See <see cref="HubClient.IsNode"/>.</param>
    internal HubClient Add(IHubSink sink, bool isNode = false)
    {
        var client = new HubClient(this, sink, isNode);
        Interlocked.Increment(ref _connections);
        lock (_clientsGate)
        {
            _clients.Add(client);
        }

        return client;
    }

    /// <summary>A connection is over.</summary>
    internal void Remove(HubClient client)
    {
        client.Abort();
        _index.RemoveClient(client);
        lock (_clientsGate)
        {
            _clients.Remove(client);
        }

        Interlocked.Decrement(ref _connections);
        Interlocked.Increment(ref _version);
    }

    /// <summary>Subscribes, and gives the client the snapshots of all matching channels.</summary>
    /// <param name="client">The client.</param>
    /// <param name="pattern">A channel or a pattern.</param>
    /// <param name="onAccepted">Called before the first snapshot, to send the answer.</param>
    internal async ValueTask<SubscribeStatus> SubscribeAsync(HubClient client, string pattern, Action onAccepted)
    {
        ChannelNameKind kind = ChannelName.KindOf(pattern);
        if (kind == ChannelNameKind.Invalid || !Ascii.IsValid(pattern))
        {
            return SubscribeStatus.InvalidChannel;
        }

        if (client.Places.Count >= Limits.Subscriptions)
        {
            return SubscribeStatus.TooMany;
        }

        List<HubChannel> matching;
        lock (_channelsGate)
        {
            matching = MatchingUnsynchronized(pattern, kind);
            client.OweSnapshots(matching);

            // A client that already has the subscription gets the snapshots again.
            _index.Add(client, pattern);
        }

        Interlocked.Increment(ref _version);
        onAccepted();
        await GiveSnapshotsAsync(client, matching).ConfigureAwait(false);
        return SubscribeStatus.Subscribed;
    }

    /// <summary>Ends a client's pause when half of its queue is free: it gets the snapshots of all its channels, then messages.</summary>
    internal async Task ResumeAsync(HubClient client)
    {
        await client.WaitForRoomAsync().ConfigureAwait(false);
        List<HubChannel> matching;
        lock (_channelsGate)
        {
            string[] names;
            lock (client.Gate)
            {
                names = [.. client.Places.Select(static place => place.Channel.Name)];
            }

            matching = [.. names.SelectMany(name => MatchingUnsynchronized(name, ChannelName.KindOf(name))).Distinct()];
            client.Resume(matching);
        }

        await GiveSnapshotsAsync(client, matching).ConfigureAwait(false);
    }

    /// <summary>Ends a subscription; false when there was none.</summary>
    internal bool Unsubscribe(HubClient client, string pattern)
    {
        bool removed = _index.Remove(client, pattern);
        Interlocked.Increment(ref _version);
        return removed;
    }

    /// <summary>Whether a channel has a subscriber, directly or by a pattern.</summary>
    internal bool HasSubscribers(string channel)
    {
        SubscriberMatches matches = _matches ??= new SubscriberMatches();
        _index.Get(channel, matches);
        bool any = !matches.IsEmpty;
        matches.Clear();
        return any;
    }

    /// <summary>
    /// The channel of this name, made if there is none. The name is a valid channel's name of printable ASCII without quotes.
    /// </summary>
    internal HubChannel GetChannel(string name)
    {
        lock (_channelsGate)
        {
            if (!_channels.TryGetValue(name, out HubChannel? channel))
            {
                channel = new HubChannel(name, _index, _stores);
                _channels.Add(name, channel);
            }

            return channel;
        }
    }

    /// <summary>Makes <paramref name="data"/> the latest message of a key and sends it to all subscribers.</summary>
    /// <param name="channel">The channel. If it was removed, the message goes to the next one of its name.</param>
    /// <param name="key">The key: printable ASCII without quotes.</param>
    /// <param name="data">A JSON value, which must not change afterwards.</param>
    /// <returns>For how many clients it was queued.</returns>
    internal int Publish(HubChannel channel, string key, ReadOnlyMemory<byte> data)
    {
        int receivers;
        while (!channel.TryPublish(key, data, out receivers))
        {
            channel = GetChannel(channel.Name);
        }

        Metrics.Published();
        return receivers;
    }

    /// <summary>Removes a channel and notifies its subscribers; a later one of the same name counts from 1 again.</summary>
    internal void RemoveChannel(HubChannel channel)
    {
        // No next one of the name is made before every subscriber knows that this one has ended.
        lock (_channelsGate)
        {
            if (_channels.TryGetValue(channel.Name, out HubChannel? current) && current == channel)
            {
                _channels.Remove(channel.Name);
                channel.Remove();
            }
        }
    }

    /// <summary>Whether the server stops.</summary>
    internal bool IsClosing { get; private set; }

    /// <summary>Sends every client the close message, because the server stops.</summary>
    internal void CloseAll(ushort status, string reason)
    {
        IsClosing = true;
        foreach (HubClient client in Clients())
        {
            client.Close(status, reason);
        }
    }

    public void Dispose()
    {
        foreach (HubClient client in Clients())
        {
            client.Abort();
        }

        Sender.Dispose();
    }

    /// <summary>For the sender, a few times a second. Never throws: a client that causes a fault is ended.</summary>
    internal void Look(long now)
    {
        lock (_clientsGate)
        {
            foreach (HubClient client in _clients)
            {
                try
                {
                    client.Look(now);
                }
                catch (Exception exception)
                {
                    OnFault(exception);
                    client.Abort();
                }
            }
        }

        try
        {
            _onLook?.Invoke(now);
        }
        catch (Exception exception)
        {
            OnFault(exception);
        }
    }

    /// <summary>A fault that was contained.</summary>
    internal void OnFault(Exception exception) => _onFault?.Invoke(exception);

    /// <summary>All clients that are connected now.</summary>
    internal HubClient[] Clients()
    {
        lock (_clientsGate)
        {
            return [.. _clients];
        }
    }

    private static async Task GiveSnapshotsAsync(HubClient client, List<HubChannel> channels)
    {
        foreach (HubChannel channel in channels)
        {
            await client.WaitForRoomAsync().ConfigureAwait(false);
            channel.Join(client);
        }
    }

    private List<HubChannel> MatchingUnsynchronized(string pattern, ChannelNameKind kind)
    {
        if (kind == ChannelNameKind.Channel)
        {
            return _channels.TryGetValue(pattern, out HubChannel? channel) ? [channel] : [];
        }

        return [.. _channels.Values.Where(channel => ChannelName.Matches(pattern, channel.Name))];
    }
}
