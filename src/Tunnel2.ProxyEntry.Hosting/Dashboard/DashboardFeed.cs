using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// What the dashboard shows and no other channel has: histories, alerts, load, sessions and agents in one message each. Windows come from
/// any thread, in their order; <see cref="Look"/> and <see cref="Follow"/> are for the feed's thread alone. It is made once, and outlives a
/// new numbering of names.
/// </summary>
internal sealed class DashboardFeed : IDisposable
{
    /// <summary>How many looks, one a second, are between two readings while no page is open.</summary>
    private const int LooksPerReading = NodeHistory.Seconds;

    private readonly Hub _hub;
    private readonly HubChannel _channel;
    private readonly NodeReadings? _readings;
    private readonly AdmissionGuard? _guard;
    private readonly SlowSubscribers? _slow;
    private readonly Lock _gate = new(); // Of the history.
    private readonly NodeHistory _history;
    private readonly NodeAlerts _alerts;
    private readonly SessionRates _rates;
    private readonly SessionHistories _histories;
    private readonly AgentList _agents;
    private readonly HubMessageWriter _message = new();
    private NodeReading? _reading;
    private int _looks;

    /// <param name="hub">The hub.</param>
    /// <param name="directory">The sessions.</param>
    /// <param name="time">The clock.</param>
    /// <param name="readings">How busy the process is; null for none.</param>
    /// <param name="guard">Decides who may subscribe; null for none.</param>
    /// <param name="slow">The subscribers that are paused; null for none.</param>
    /// <param name="addresses">The URLs of sessions; null: none are shown.</param>
    public DashboardFeed(
        Hub hub, ISessionDirectory directory, TimeProvider time, NodeReadings? readings = null, AdmissionGuard? guard = null,
        SlowSubscribers? slow = null, PublicAddresses? addresses = null)
    {
        (_hub, _readings, _guard, _slow) = (hub, readings, guard, slow);
        _channel = hub.GetChannel("node.load");
        _history = new NodeHistory(hub);
        _alerts = new NodeAlerts(hub, time);
        _rates = new SessionRates(hub);
        _histories = new SessionHistories(hub, directory, time);
        _agents = new AgentList(hub, directory, time, addresses);
    }

    /// <summary>A window of one session.</summary>
    public void OnSession(string name, in WindowResult window, WindowCell cell)
    {
        if (window.Seconds == 1)
        {
            _alerts.Failing.Add(name, window.StartUnixMicroseconds, cell);
            _rates.Add(name, window);
        }
        else if (window.Seconds == SessionHistories.Seconds)
        {
            _histories.Add(name, window, cell);
        }
    }

    /// <summary>A window of all sessions together; windows come in their order.</summary>
    public void OnNode(in WindowResult window, WindowCell cell)
    {
        if (window.Seconds == 1)
        {
            lock (_gate)
            {
                _history.Add(window.StartUnixMicroseconds, cell);
            }
        }
    }

    /// <summary>No more windows will come that end at or before <paramref name="watermark"/>, µs since 1970.</summary>
    public void AdvanceTo(long watermark)
    {
        if (watermark is long.MinValue or long.MaxValue)
        {
            // Not every partition has begun, or they end and others follow.
            return;
        }

        _rates.AdvanceTo(watermark);
        _histories.AdvanceTo(watermark);
        lock (_gate)
        {
            _history.AdvanceTo(watermark);
        }
    }

    /// <summary>The clock was set back: windows come again from this time on, µs since 1970. No partition is at work.</summary>
    public void SetBack(long now)
    {
        _alerts.Failing.SetBack(now);
        _rates.SetBack();
        _histories.SetBack(now);
        lock (_gate)
        {
            _history.SetBack();
        }
    }

    /// <summary>Looks whose history is watched, often: a page waits for it.</summary>
    public void Follow() => _histories.Follow();

    /// <summary>Reads and publishes what does not come from requests, about once a second.</summary>
    /// <param name="online">Sessions that are registered.</param>
    /// <param name="gone">Names whose agent is away, and since when, ms since 1970.</param>
    /// <param name="missed">Records since the start that did not get into the statistics.</param>
    public void Look(int online, IReadOnlyList<(string Name, long Since)> gone, long missed)
    {
        var isWatched = _readings is not null && _hub.HasSubscribers(_channel.Name);
        var isNew = _readings is not null && (isWatched || _looks % LooksPerReading == 0);
        _looks++;
        if (isNew)
        {
            _reading = _readings!.Read();
        }

        lock (_gate)
        {
            (_history.Sessions, _history.Reading) = (online, _reading);
        }

        if (isWatched)
        {
            PublishLoad(_reading!, online, missed);
        }

        _rates.Look();
        _agents.Look(gone);
        _alerts.Look(
            gone,
            missed,
            _guard?.IsPausing == true,
            _reading is null ? null : (_reading, isNew),
            _readings is null ? [] : FirstToEnd(_readings.Certificates),
            _readings is null ? (0, null) : (_readings.Certificates.Refused(), FirstRefused(_readings.Certificates)));
    }

    /// <summary>One for each use: an alert says whom it is for, and the metrics and the page say the rest.</summary>
    private static IEnumerable<(string Use, CertificateFacts Facts)> FirstToEnd(CertificateUses certificates) =>
        certificates.Now()
            .GroupBy(static one => one.Use, StringComparer.Ordinal)
            .Select(static use => use.MinBy(static one => one.Facts.NotAfter));

    private static CertificateRefusal? FirstRefused(CertificateUses certificates) =>
        certificates.Refusals() is [(_, var first), ..] ? first : null;

    public void Dispose()
    {
        _history.Dispose();
        _alerts.Dispose();
        _rates.Dispose();
        _histories.Dispose();
        _agents.Dispose();
        _message.Dispose();
    }

    private void PublishLoad(NodeReading reading, int online, long missed)
    {
        var json = _message.Begin();
        json.WriteStartObject();
        json.WriteNumber("atMs"u8, reading.At);
        json.WriteNumber("sessions"u8, online);
        json.WriteNumber("missed"u8, missed);
        NodeReadingJson.WriteMembers(json, reading);
        if (reading.Trouble is { } trouble)
        {
            json.WriteString("trouble"u8, trouble);
        }

        if (_guard is not null)
        {
            var (memory, cpu) = _guard.Use;
            json.WriteStartObject("guard"u8);
            json.WriteNumber("connections"u8, _guard.Connections);
            json.WriteNumber("most"u8, _guard.MaxConnections);
            json.WriteNumber("memory"u8, Math.Round(memory, 3));
            json.WriteNumber("cpu"u8, Math.Round(cpu, 3));
            json.WriteBoolean("pausing"u8, _guard.IsPausing);
            json.WriteNumber("paused"u8, _slow?.Count ?? 0);
            json.WriteEndObject();
        }

        CertificatesJson.WriteMembers(json, _readings!.Certificates);
        json.WriteEndObject();
        _hub.Publish(_channel, "now", _message.End());
    }
}
