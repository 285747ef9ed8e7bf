using System.Globalization;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// Publishes the requests of all sessions on <c>node.requests</c>, ten times a second, while there is a subscriber. A batch has at most
/// <see cref="MostPerBatch"/> requests and <see cref="MostFailedPerBatch"/> failed ones more, and says how many were left out. Without a
/// subscriber a request costs one comparison. For the feed's thread alone.
/// </summary>
internal sealed class RequestBatches : IRecordObserver, IDisposable
{
    /// <summary>Requests in a batch at most; failed ones have places of their own after these.</summary>
    public const int MostPerBatch = 150;

    /// <summary>Failed requests in a batch at most, after the others are full.</summary>
    public const int MostFailedPerBatch = 60;

    /// <summary>Requests of the past that a first subscriber gets.</summary>
    public const int Remembered = 200;

    private static readonly TimeSpan _every = TimeSpan.FromMilliseconds(100);

    /// <summary>The latest batches are kept for the next subscriber.</summary>
    private static readonly string[] _keys = [.. Enumerable.Range(0, 4).Select(static i => i.ToString(CultureInfo.InvariantCulture))];

    private readonly SharedEventRing _ring;
    private readonly Hub _hub;
    private readonly HubChannel _channel;
    private readonly TimeProvider _time;
    private readonly HubMessageWriter _message = new();
    private bool _isWatched;
    private long _version = -1;
    private long _nextLook;
    private long _nextBatch;
    private long _skipped;
    private int _count;
    private int _failed;
    private int _turn;

    public RequestBatches(SharedEventRing ring, Hub hub, TimeProvider time)
    {
        _ring = ring;
        _hub = hub;
        _channel = hub.GetChannel("node.requests");
        _time = time;
    }

    /// <inheritdoc/>
    public void OnRecord(long sequence, int key, ReadOnlySpan<byte> payload)
    {
        if (_isWatched)
        {
            Add(sequence, payload);
        }
    }

    /// <summary>
    /// The records up to <paramref name="cursor"/> were read: publishes the batch when it is time, and looks for subscribers.
    /// </summary>
    public void EndOfBatch(long timestamp, long cursor)
    {
        if (timestamp >= _nextBatch && (_count > 0 || _skipped > 0))
        {
            Publish();
            _nextBatch = timestamp + (long)(_time.TimestampFrequency * _every.TotalSeconds);
        }

        if (timestamp < _nextLook || _version == _hub.SubscriptionVersion)
        {
            return;
        }

        _nextLook = timestamp + (long)(_time.TimestampFrequency * _every.TotalSeconds);
        _version = _hub.SubscriptionVersion;
        var isWatched = _hub.HasSubscribers(_channel.Name);
        if (isWatched && !_isWatched)
        {
            AddHistory(cursor);
        }

        _isWatched = isWatched;
    }

    public void Dispose() => _message.Dispose();

    /// <summary>The last requests that the ring still has, in a batch of their own.</summary>
    private void AddHistory(long cursor)
    {
        using var reader = _ring.CreateReader(new EventRingReaderOptions { From = Math.Max(0, cursor - Remembered) });
        var batch = new RingBatch(Remembered, _ring.MaxPayload);
        while (reader.Cursor < cursor && reader.TryReadBatch(batch, out _) is RingReadStatus.Record or RingReadStatus.Gap)
        {
            foreach (ref readonly var entry in batch.Entries)
            {
                if (entry.Sequence < cursor)
                {
                    Add(entry.Sequence, batch.Payload(entry), Remembered);
                }
            }
        }

        if (_count > 0)
        {
            Publish();
        }
    }

    private void Add(long sequence, ReadOnlySpan<byte> payload, int most = MostPerBatch)
    {
        // A report of an open connection is no request, and would be one each second.
        if (RequestRecordCodec.Decode(payload, out var record) != RecordDecodeStatus.Ok || (record.Flags & RequestFlags.Interim) != 0)
        {
            return;
        }

        if (_count - _failed >= most)
        {
            var isFailed = record.ErrorCode != RequestErrorCodes.None || record.Status >= 500;
            if (!isFailed || _failed >= MostFailedPerBatch)
            {
                _skipped++;
                return;
            }

            _failed++;
        }

        var json = _message.Json;
        if (_count++ == 0)
        {
            json.WriteStartObject();
            json.WriteStartArray("requests"u8);
        }

        json.WriteStartObject();
        json.WriteNumber("sequence"u8, sequence);
        RecordJson.WriteMembers(json, record);
        json.WriteEndObject();
    }

    private void Publish()
    {
        var json = _message.Json;
        if (_count == 0)
        {
            json.WriteStartObject();
            json.WriteStartArray("requests"u8);
        }

        json.WriteEndArray();
        json.WriteNumber("skipped"u8, _skipped);
        json.WriteEndObject();
        _hub.Publish(_channel, _keys[_turn], _message.End());
        _turn = (_turn + 1) % _keys.Length;
        (_count, _failed, _skipped) = (0, 0, 0);
    }
}
