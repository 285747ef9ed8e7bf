using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// What a person should look at, on <c>node.alerts</c>: published when it changes. For the feed's thread alone, except
/// <see cref="Failing"/>.
/// </summary>
internal sealed class NodeAlerts : IDisposable
{
    /// <summary>Alerts that are shown at once.</summary>
    public const int Most = 100;

    private const double BusyLoop = 0.95;
    private const double FullMemory = 0.8;
    private const int ReadingsUntilBusy = 3;

    private static readonly TimeSpan _certificateWarning = TimeSpan.FromDays(14);
    private static readonly TimeSpan _missedWarning = TimeSpan.FromMinutes(1);

    private readonly Hub _hub;
    private readonly HubChannel _channel;
    private readonly TimeProvider _time;
    private readonly HubMessageWriter _message = new();
    private readonly Dictionary<string, (int Readings, long Since)> _states = new(StringComparer.Ordinal);
    private byte[] _published = [];
    private long _missed;
    private long _missedAt = long.MinValue;
    private long _missedSince;

    public NodeAlerts(Hub hub, TimeProvider time)
    {
        _hub = hub;
        _channel = hub.GetChannel("node.alerts");
        _time = time;
    }

    /// <summary>The sessions whose requests fail. Any thread may add windows.</summary>
    public FailingSessions Failing { get; } = new();

    /// <summary>Looks at everything, about once a second.</summary>
    /// <param name="gone">Sessions whose agent is away, and since when, ms since 1970.</param>
    /// <param name="missed">Records since the start that did not get into the statistics.</param>
    /// <param name="isShort">Whether slow subscribers are paused because memory or processors are short.</param>
    /// <param name="reading">The latest reading, and whether it is a new one; null where there is none.</param>
    /// <param name="certificates">Of each use the certificate that ends first.</param>
    /// <param name="refused">How many certificates cannot be used or obtained, and the first of them.</param>
    public void Look(
        IReadOnlyList<(string Name, long Since)> gone, long missed, bool isShort, (NodeReading Reading, bool IsNew)? reading,
        IEnumerable<(string Use, CertificateFacts Facts)> certificates, (int Count, CertificateRefusal? First) refused)
    {
        var now = _time.GetUtcNow();
        var nowMs = now.ToUnixTimeMilliseconds();
        var alerts = new List<Alert>();
        if (reading is (var latest, var isNew))
        {
            AddOfReading(alerts, latest, isNew, nowMs);
        }

        alerts.AddRange(Failing.Look(nowMs * 1000));
        foreach (var (use, facts) in certificates)
        {
            if (facts.NotAfter - now.UtcDateTime < _certificateWarning)
            {
                var end = new DateTimeOffset(facts.NotAfter, TimeSpan.Zero);
                alerts.Add(new Alert("certificate", (end - _certificateWarning).ToUnixTimeMilliseconds())
                {
                    Subject = use,
                    Text = facts.Names.Length > 0 ? facts.Names : null,
                    Value = end.ToUnixTimeMilliseconds(),
                });
            }
        }

        if (IsSince("refused", refused.Count > 0, true, 1, nowMs, out var since))
        {
            alerts.Add(new Alert("certificate-refused", since)
            {
                Subject = refused.First?.Name,
                Text = refused.First?.Reason,
                Value = refused.Count,
            });
        }

        if (IsSince("hub", isShort, true, 1, nowMs, out since))
        {
            alerts.Add(new Alert("hub", since));
        }

        AddMissed(alerts, missed, nowMs);
        foreach (var (name, at) in gone)
        {
            alerts.Add(new Alert("offline", at) { Subject = name });
        }

        Publish(alerts);
    }

    public void Dispose() => _message.Dispose();

    private void AddOfReading(List<Alert> alerts, NodeReading latest, bool isNew, long now)
    {
        if (IsSince("not-ready", latest.Trouble is not null, isNew, 1, now, out var since))
        {
            alerts.Add(new Alert("not-ready", since) { Text = latest.Trouble });
        }

        for (var i = 0; i < latest.Loops.Length; i++)
        {
            var key = string.Create(CultureInfo.InvariantCulture, $"loop {i}");
            if (IsSince(key, latest.Loops[i] >= BusyLoop, isNew, ReadingsUntilBusy, now, out since))
            {
                alerts.Add(new Alert("loop", since) { Value = i, Share = Math.Round(latest.Loops[i], 2) });
            }
        }

        var full = latest.HeldLimit == 0 ? 0 : latest.HeldBytes / (double)latest.HeldLimit;
        if (IsSince("memory", full >= FullMemory, isNew, 1, now, out since))
        {
            alerts.Add(new Alert("memory", since) { Share = Math.Round(full, 2) });
        }
    }

    /// <summary>Records that were missed are reported for a minute after the last of them.</summary>
    private void AddMissed(List<Alert> alerts, long missed, long now)
    {
        if (missed > _missed)
        {
            _missedSince = _missedAt == long.MinValue ? now : _missedSince;
            (_missed, _missedAt) = (missed, now);
        }

        if (_missedAt != long.MinValue && now - _missedAt > _missedWarning.TotalMilliseconds)
        {
            _missedAt = long.MinValue;
        }

        if (_missedAt != long.MinValue)
        {
            alerts.Add(new Alert("missed", _missedSince) { Value = missed });
        }
    }

    /// <summary>Whether something holds for a number of readings, and since when.</summary>
    private bool IsSince(string key, bool holds, bool isNew, int readings, long now, out long since)
    {
        var (count, begun) = _states.GetValueOrDefault(key);
        if (!holds)
        {
            _states.Remove(key);
            since = 0;
            return false;
        }

        since = count == 0 ? now : begun;
        count = isNew || count == 0 ? Math.Min(count + 1, readings) : count;
        _states[key] = (count, since);
        return count >= readings;
    }

    private void Publish(List<Alert> alerts)
    {
        var json = _message.Begin();
        json.WriteStartObject();
        json.WriteNumber("more"u8, Math.Max(0, alerts.Count - Most));
        json.WriteStartArray("alerts"u8);
        foreach (var alert in alerts.Take(Most))
        {
            Write(json, alert);
        }

        json.WriteEndArray();
        json.WriteEndObject();
        var bytes = _message.End();
        if (!bytes.AsSpan().SequenceEqual(_published))
        {
            _published = bytes;
            _hub.Publish(_channel, "all", bytes);
        }
    }

    private static void Write(Utf8JsonWriter json, Alert alert)
    {
        json.WriteStartObject();
        json.WriteString("kind"u8, alert.Kind);
        json.WriteNumber("sinceMs"u8, alert.Since);
        WriteText(json, "subject", alert.Subject);
        WriteText(json, "leg", alert.Leg);
        WriteText(json, "code", alert.Code);
        WriteText(json, "text", alert.Text);
        if (alert.Share is { } share)
        {
            json.WriteNumber("share"u8, share);
        }

        if (alert.Value is { } value)
        {
            json.WriteNumber("value"u8, value);
        }

        json.WriteEndObject();
    }

    private static void WriteText(Utf8JsonWriter json, string name, string? text)
    {
        if (text is not null)
        {
            json.WriteString(name, text);
        }
    }
}
