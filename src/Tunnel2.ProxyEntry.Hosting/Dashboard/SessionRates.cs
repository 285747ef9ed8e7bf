using System.Text.Json;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// Publishes one message a second with all sessions that had requests, on <c>node.sessions</c>, while there is a subscriber. One message
/// costs a browser far less than one for each session. Thread-safe.
/// </summary>
internal sealed class SessionRates : IDisposable
{
    /// <summary>Sessions in a message at most: the ones with the most requests.</summary>
    public const int Most = 1000;

    /// <summary>Windows that are open at once: partitions are not more than this apart.</summary>
    private const int MostOpen = 8;

    private readonly Hub _hub;
    private readonly HubChannel _channel;
    private readonly Lock _gate = new();
    private readonly HubMessageWriter _message = new();
    private readonly SortedDictionary<long, List<(string Name, WindowResult Window)>> _open = [];
    private bool _isWatched;

    public SessionRates(Hub hub)
    {
        _hub = hub;
        _channel = hub.GetChannel("node.sessions");
    }

    /// <summary>Looks for subscribers, about once a second.</summary>
    public void Look() => Volatile.Write(ref _isWatched, _hub.HasSubscribers(_channel.Name));

    /// <summary>A session's window of one second.</summary>
    public void Add(string session, in WindowResult window)
    {
        if (!Volatile.Read(ref _isWatched))
        {
            return;
        }

        lock (_gate)
        {
            if (!_open.TryGetValue(window.StartUnixMicroseconds, out var rows))
            {
                if (_open.Count >= MostOpen)
                {
                    return;
                }

                _open.Add(window.StartUnixMicroseconds, rows = []);
            }

            rows.Add((session, window));
        }
    }

    /// <summary>No more windows will come that end at or before <paramref name="watermark"/>, µs since 1970.</summary>
    public void AdvanceTo(long watermark)
    {
        lock (_gate)
        {
            while (_open.Count > 0 && _open.First() is var (start, rows) && start + WatermarkFilter.Second <= watermark)
            {
                _open.Remove(start);
                PublishUnsynchronized(start, rows);
            }
        }
    }

    /// <summary>The clock was set back: no windows follow those that are open.</summary>
    public void SetBack()
    {
        lock (_gate)
        {
            _open.Clear();
        }
    }

    public void Dispose() => _message.Dispose();

    private void PublishUnsynchronized(long start, List<(string Name, WindowResult Window)> rows)
    {
        if (rows.Count > Most)
        {
            rows.Sort(static (one, other) => other.Window.Requests.CompareTo(one.Window.Requests));
        }

        var json = _message.Begin();
        json.WriteStartObject();
        json.WriteNumber("startMs"u8, start / 1000);
        json.WriteNumber("left"u8, Math.Max(0, rows.Count - Most));
        json.WriteStartArray("sessions"u8);
        foreach (var (name, window) in rows.Take(Most))
        {
            Write(json, name, window);
        }

        json.WriteEndArray();
        json.WriteEndObject();
        _hub.Publish(_channel, "1s", _message.End());
    }

    private static void Write(Utf8JsonWriter json, string name, in WindowResult window)
    {
        json.WriteStartObject();
        json.WriteString("session"u8, name);
        WindowJson.WriteMembers(json, window);
        json.WriteEndObject();
    }
}
