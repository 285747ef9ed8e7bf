using System.Text.Json;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// Publishes all sessions with their agents and uplinks on <c>node.agents</c>, each second, or every five when there are many, while there
/// is a subscriber. For the feed's thread alone.
/// </summary>
internal sealed class AgentList : IDisposable
{
    /// <summary>Sessions in a message at most.</summary>
    public const int Most = 1000;

    private const int Many = 100;
    private const int LooksOfMany = 5;

    private readonly Hub _hub;
    private readonly HubChannel _channel;
    private readonly ISessionDirectory _directory;
    private readonly TimeProvider _time;
    private readonly PublicAddresses? _addresses;
    private readonly HubMessageWriter _message = new();
    private int _looks;

    public AgentList(Hub hub, ISessionDirectory directory, TimeProvider time, PublicAddresses? addresses = null)
    {
        _addresses = addresses;
        _hub = hub;
        _channel = hub.GetChannel("node.agents");
        _directory = directory;
        _time = time;
    }

    /// <summary>Publishes the list if there is a subscriber.</summary>
    /// <param name="gone">Names whose agent is away, and since when, ms since 1970.</param>
    public void Look(IReadOnlyList<(string Name, long Since)> gone)
    {
        if (!_hub.HasSubscribers(_channel.Name))
        {
            _looks = 0;
            return;
        }

        if (_directory.Count > Many && _looks++ % LooksOfMany != 0)
        {
            return;
        }

        var now = _time.GetUtcNow().ToUnixTimeMilliseconds();
        var sessions = _directory.Snapshot();
        var json = _message.Begin();
        json.WriteStartObject();
        json.WriteNumber("atMs"u8, now);
        json.WriteNumber("left"u8, Math.Max(0, sessions.Count + gone.Count - Most));
        json.WriteStartArray("agents"u8);
        foreach (var session in sessions.Take(Most))
        {
            Write(json, session, now);
        }

        foreach (var (name, since) in gone.Take(Most - Math.Min(Most, sessions.Count)))
        {
            json.WriteStartObject();
            json.WriteString("session"u8, name);
            json.WriteBoolean("online"u8, false);
            json.WriteNumber("lastSeenMs"u8, since);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
        _hub.Publish(_channel, "all", _message.End());
    }

    public void Dispose() => _message.Dispose();

    private void Write(Utf8JsonWriter json, EntrySession session, long now)
    {
        json.WriteStartObject();
        json.WriteString("session"u8, session.Name);
        json.WriteBoolean("online"u8, true);
        json.WriteNumber("lastSeenMs"u8, now);
        json.WriteNumber("sinceMs"u8, now - (long)_time.GetElapsedTime(session.StartedAt).TotalMilliseconds);
        json.WriteString("sessionId"u8, session.DisplayId);
        json.WriteString("identity"u8, session.Identity.ToString());
        json.WriteString("version"u8, session.AgentVersion);
        json.WriteBoolean("leaving"u8, session.IsLeaving);
        json.WriteStartArray("urls"u8);
        foreach (var url in _addresses?.Of(session) ?? [])
        {
            json.WriteStringValue(url);
        }

        json.WriteEndArray();
        if (session.Member is { Pool: { } pool } member)
        {
            var at = member.Now;
            json.WriteStartObject("pool"u8);
            json.WriteNumber("members"u8, pool.Members.Count);
            json.WriteBoolean("healthy"u8, member.IsHealthy);
            json.WriteBoolean("spared"u8, member.IsPaused(at));
            json.WriteNumber("share"u8, member.WeightAt(at) * 100 / PoolMember.FullWeight);
            json.WriteEndObject();
        }

        if (session.RateLimit is { } limit)
        {
            json.WriteString("tier"u8, limit.Tier.Name);
            json.WriteNumber("perSecond"u8, limit.Tier.RequestsPerSecond);
            json.WriteNumber("burst"u8, limit.Tier.Burst);
            json.WriteNumber("refused"u8, limit.Refused);
        }

        if (session.Access is { } access)
        {
            json.WriteStartObject("access"u8);
            json.WriteBoolean("login"u8, access.NeedsLogin);
            json.WriteBoolean("token"u8, access.Tokens is not null);
            json.WriteBoolean("signIn"u8, access.Place is not null);
            json.WriteBoolean("addresses"u8, access.LimitsAddresses);
            json.WriteNumber("refused"u8, session.TurnedAway);
            json.WriteEndObject();
        }

        json.WriteStartArray("uplinks"u8);
        foreach (var uplink in session.Tunnel.Uplinks)
        {
            Write(json, uplink);
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    private void Write(Utf8JsonWriter json, UplinkConnection uplink)
    {
        json.WriteStartObject();
        json.WriteNumber("slot"u8, uplink.Slot);
        json.WriteString("remote"u8, uplink.RemoteName);
        json.WriteNumber("rttUs"u8, (long)uplink.RoundTrip.Last.TotalMicroseconds);
        json.WriteNumber("streams"u8, uplink.OpenStreams);
        json.WriteNumber("waiting"u8, uplink.Sending.WaitingStreams);
        json.WriteNumber("outstanding"u8, uplink.Sending.OutstandingBytes);
        json.WriteNumber("sent"u8, uplink.Statistics.BytesSent);
        json.WriteNumber("received"u8, uplink.Statistics.BytesReceived);
        json.WriteBoolean("stalled"u8, uplink.IsStalled(uplink.Settings.TimeProvider.GetTimestamp()));
        json.WriteEndObject();
    }
}
