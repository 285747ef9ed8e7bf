using System.Buffers;
using System.Globalization;
using System.Text.Json;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Publishes single requests on <c>session.{name}.requests</c> while there is a subscriber. The keys are 0 to 19 in turn, so a snapshot has
/// the last twenty. Without a subscriber a request costs one look into an array. For the feed's thread alone.
/// </summary>
internal sealed class RequestFeed : IRecordObserver
{
    private const int Remembered = 20;

    /// <summary>How many requests a second are shown, over all sessions. People read fewer, and the tap has them all.</summary>
    private const int MostPerSecond = 500;

    private const double SecondsBetweenLooks = 0.2;

    private static readonly string[] _keys =
    [
        .. Enumerable.Range(0, Remembered).Select(static i => i.ToString(CultureInfo.InvariantCulture)),
    ];

    private readonly SharedEventRing _ring;
    private readonly Hub _hub;
    private readonly SessionKeyTable _names;
    private readonly SessionStatusFeed _sessions;
    private readonly TimeProvider _time;
    private readonly long _from;
    private readonly ArrayBufferWriter<byte> _buffer = new(512);
    private Watch?[] _watches = new Watch?[64];
    private long _version = -1;
    private int _known;
    private long _nextLook;
    private long _second;
    private int _shown;

    /// <param name="ring">The ring.</param>
    /// <param name="hub">The hub for the messages.</param>
    /// <param name="names">The sessions' numbers.</param>
    /// <param name="sessions">The sessions, which have the channels.</param>
    /// <param name="from">The ring's number of the first record to show; earlier ones belong to a previous numbering of sessions.</param>
    /// <param name="time">The clock.</param>
    public RequestFeed(SharedEventRing ring, Hub hub, SessionKeyTable names, SessionStatusFeed sessions, long from, TimeProvider time)
    {
        _sessions = sessions;
        _time = time;
        _from = from;
        _ring = ring;
        _hub = hub;
        _names = names;
    }

    /// <inheritdoc/>
    public void OnRecord(long sequence, int key, ReadOnlySpan<byte> payload)
    {
        if (key < _watches.Length && _watches[key] is { IsOn: true } watch)
        {
            Show(watch, sequence, payload);
        }
    }

    /// <summary>The records up to <paramref name="cursor"/> were read: finds out which sessions are watched now.</summary>
    public void EndOfBatch(long timestamp, long cursor)
    {
        var changed = _version != _hub.SubscriptionVersion || _known != _names.Count;
        if (!changed || timestamp < _nextLook)
        {
            return;
        }

        _nextLook = timestamp + (long)(_time.TimestampFrequency * SecondsBetweenLooks);
        _version = _hub.SubscriptionVersion;
        _known = _names.Count;
        if (_watches.Length < _known)
        {
            Array.Resize(ref _watches, Math.Max(_known, _watches.Length * 2));
        }

        HashSet<int>? begun = null;
        for (var key = 0; key < _known; key++)
        {
            var name = _names.Name(key);
            var isOn = name != RequestPublisher.NoSession && _hub.HasSubscribers($"session.{name}.requests");
            if (isOn && _watches[key] is not { IsOn: true })
            {
                (begun ??= []).Add(key);
                (_watches[key] ??= new Watch(name) { Next = _from }).IsOn = true;
            }
            else if (!isOn && _watches[key] is { } watch)
            {
                watch.IsOn = false;
            }
        }

        if (begun is not null)
        {
            ShowHistory(begun, cursor);
        }
    }

    /// <summary>Shows the last requests of newly watched sessions that the ring still has.</summary>
    private void ShowHistory(HashSet<int> begun, long cursor)
    {
        using var reader = _ring.CreateReader(new EventRingReaderOptions { From = Math.Max(0, cursor - _ring.Capacity) });
        var batch = new RingBatch(256, _ring.MaxPayload);
        var last = begun.ToDictionary(static key => key, static _ => new Queue<(long Sequence, byte[] Payload)>(Remembered));
        while (reader.Cursor < cursor && reader.TryReadBatch(batch, out _) is RingReadStatus.Record or RingReadStatus.Gap)
        {
            foreach (ref readonly var entry in batch.Entries)
            {
                if (entry.Sequence >= cursor || RequestRecordCodec.Decode(batch.Payload(entry), out var record) != RecordDecodeStatus.Ok
                    || !last.TryGetValue(_names.GetOrAdd(record.SessionName), out var queue))
                {
                    continue;
                }

                if (queue.Count == Remembered)
                {
                    queue.Dequeue();
                }

                queue.Enqueue((entry.Sequence, batch.Payload(entry).ToArray()));
            }
        }

        foreach (var (key, queue) in last)
        {
            foreach (var (sequence, payload) in queue)
            {
                Show(_watches[key]!, sequence, payload);
            }
        }
    }

    private void Show(Watch watch, long sequence, ReadOnlySpan<byte> payload)
    {
        if (sequence < watch.Next || RequestRecordCodec.Decode(payload, out var record) != RecordDecodeStatus.Ok)
        {
            return;
        }

        watch.Next = sequence + 1;
        var second = _time.GetTimestamp() / _time.TimestampFrequency;
        (_shown, _second) = second == _second ? (_shown + 1, _second) : (1, second);
        if (_shown > MostPerSecond)
        {
            watch.Skipped++;
            return;
        }

        using (var json = new Utf8JsonWriter(_buffer))
        {
            json.WriteStartObject();
            json.WriteNumber("sequence"u8, sequence);
            RecordJson.WriteMembers(json, record);
            if (watch.Skipped > 0)
            {
                json.WriteNumber("skipped"u8, watch.Skipped);
                watch.Skipped = 0;
            }

            json.WriteEndObject();
        }

        _hub.Publish(_sessions.ChannelOf(watch.Session, "requests"), _keys[watch.Turn], _buffer.WrittenSpan.ToArray());
        watch.Turn = (watch.Turn + 1) % Remembered;
        _buffer.ResetWrittenCount();
    }

    /// <summary>A session that is or was watched.</summary>
    private sealed class Watch(string session)
    {
        public string Session { get; } = session;

        public bool IsOn { get; set; }

        /// <summary>The ring's number of the first record that has not been shown.</summary>
        public long Next { get; set; }

        public int Turn { get; set; }

        public long Skipped { get; set; }
    }
}
