using System.Buffers;
using System.Collections.Immutable;
using System.Globalization;
using System.Text;
using Tunnel2.Telemetry.MessageStore;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>A channel: the latest message of each of its keys, numbered in one order, and the way to its subscribers.</summary>
/// <remarks>
/// The only lock is its store's. With it held a message is stored, numbered and queued for every subscriber, and a new subscriber is given
/// the snapshot. So it gets exactly the messages after its snapshot, in their order, for any number of publishers. The store must call its
/// observer for one change after another.
/// </remarks>
internal sealed class HubChannel : IMessageObserver<HubMessage>
{
    [ThreadStatic]
    private static SubscriberMatches? _matches;

    [ThreadStatic]
    private static HashSet<Subscriber>? _served;

    private readonly SubscriptionIndex _index;
    private readonly IMessageStore<HubMessage> _store;
    private readonly byte[] _prefix;
    private bool _isRemoved;

    /// <param name="name">Its name.</param>
    /// <param name="index">The subscribers.</param>
    /// <param name="stores">Makes the store.</param>
    internal HubChannel(string name, SubscriptionIndex index, Func<IMessageObserver<HubMessage>, IMessageStore<HubMessage>> stores)
    {
        Name = name;
        _index = index;
        _prefix = Encoding.ASCII.GetBytes($"\"channel\":\"{name}\",");
        _store = stores(this);
    }

    internal string Name { get; }

    /// <summary>The number of the last message. The store's lock guards it.</summary>
    internal long SequenceUnsynchronized { get; private set; }

    /// <summary>Makes <paramref name="data"/> the latest message of a key and queues it for all subscribers.</summary>
    /// <returns>False when the channel was removed: nothing has happened.</returns>
    internal bool TryPublish(string key, ReadOnlyMemory<byte> data, out int receivers)
    {
        var message = new HubMessage(data);
        _store.Set(key, message);
        receivers = message.Receivers;
        return message.Sequence != 0;
    }

    /// <summary>Gives the snapshot to a client that waits for it, which gets every later message. A removed channel has none.</summary>
    internal void Join(HubClient client) => _store.Join((Channel: this, Client: client), static (join, state) =>
        join.Client.EndWait(join.Channel, join.Channel._isRemoved ? null : join.Channel.SnapshotFrameUnsynchronized(state)));

    /// <summary>The frame of a snapshot, as a new subscriber would get it now.</summary>
    internal byte[] SnapshotFrame()
    {
        byte[] frame = [];
        _store.Join(this, (channel, state) => frame = channel.SnapshotFrameUnsynchronized(state));
        return frame;
    }

    /// <summary>Ends the channel, and notifies its subscribers.</summary>
    internal void Remove() => _store.Reset();

    void IMessageObserver<HubMessage>.OnSet(string key, HubMessage message)
    {
        if (!_isRemoved)
        {
            message.Sequence = ++SequenceUnsynchronized;
            message.Receivers = SendUnsynchronized(key, message);
        }
    }

    /// <summary>No code deletes a single key of a channel, and subscribers know no message for it.</summary>
    void IMessageObserver<HubMessage>.OnDeleted(string key)
    {
    }

    void IMessageObserver<HubMessage>.OnReset()
    {
        _isRemoved = true;
        SendUnsynchronized(null, null);
    }

    /// <summary>Queues a message for every subscriber once; without one, the news that the channel is removed.</summary>
    /// <returns>For how many.</returns>
    private int SendUnsynchronized(string? key, HubMessage? message)
    {
        SubscriberMatches matches = _matches ??= new SubscriberMatches();
        _index.Get(Name, matches);
        HashSet<Subscriber>? served = matches.MayRepeat ? _served ??= [] : null;
        byte[]? frame = null;
        int queued = 0;
        foreach (Subscriber subscriber in matches)
        {
            if (served is null || served.Add(subscriber))
            {
                frame ??= message is null ? RemovedFrame() : MessageFrame(key!, message);

                // The news also comes to a client that waits for the snapshot, which may have got messages by an earlier subscription or
                // before it was paused.
                queued += ((HubClient)subscriber).Enqueue(frame, message is null ? null : this) ? 1 : 0;
            }
        }

        served?.Clear();
        matches.Clear();
        return queued;
    }

    private byte[] RemovedFrame() => WebSocketFrame.FromText(Encoding.ASCII.GetBytes($"{{\"type\":\"removed\",\"channel\":\"{Name}\"}}"));

    /// <summary>The frame of a message: <c>{"type":"message","channel":…,"key":…,"seq":…,"data":…}</c>.</summary>
    internal byte[] MessageFrame(string key, HubMessage message)
    {
        Span<byte> number = stackalloc byte[20];
        message.Sequence.TryFormat(number, out int digits, default, CultureInfo.InvariantCulture);
        int length = "{\"type\":\"message\",".Length + _prefix.Length + "\"key\":\"".Length + key.Length + "\",\"seq\":".Length + digits
            + ",\"data\":".Length + message.Data.Length + 1;
        byte[] frame = WebSocketFrame.AllocateText(length, out int at);
        Span<byte> rest = frame.AsSpan(at);
        Put(ref rest, "{\"type\":\"message\","u8);
        Put(ref rest, _prefix);
        Put(ref rest, "\"key\":\""u8);
        rest = rest[Encoding.ASCII.GetBytes(key, rest)..];
        Put(ref rest, "\",\"seq\":"u8);
        Put(ref rest, number[..digits]);
        Put(ref rest, ",\"data\":"u8);
        Put(ref rest, message.Data.Span);
        Put(ref rest, "}"u8);
        return frame;
    }

    /// <summary>
    /// The frame of a snapshot, the oldest first:
    /// <c>{"type":"snapshot","channel":…,"seq":…,"messages":[{"key":…,"seq":…,"data":…},…]}</c>.
    /// </summary>
    private byte[] SnapshotFrameUnsynchronized(ImmutableArray<KeyValuePair<string, HubMessage>> state)
    {
        var buffer = new ArrayBufferWriter<byte>(256);
        buffer.Write("{\"type\":\"snapshot\","u8);
        buffer.Write(_prefix);
        buffer.Write(
            Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"\"seq\":{SequenceUnsynchronized},\"messages\":[")));
        bool first = true;
        foreach ((string key, HubMessage message) in state.OrderBy(static pair => pair.Value.Sequence))
        {
            buffer.Write(Encoding.ASCII.GetBytes(string.Create(
                CultureInfo.InvariantCulture, $"{(first ? "" : ",")}{{\"key\":\"{key}\",\"seq\":{message.Sequence},\"data\":")));
            buffer.Write(message.Data.Span);
            buffer.Write("}"u8);
            first = false;
        }

        buffer.Write("]}"u8);
        return WebSocketFrame.FromText(buffer.WrittenSpan);
    }

    private static void Put(ref Span<byte> rest, scoped ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(rest);
        rest = rest[bytes.Length..];
    }
}
