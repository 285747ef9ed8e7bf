using System.Buffers;
using System.Text.Json;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Publishes on <c>session.{name}.status</c> when a session comes, goes or changes, within a second, and removes the channels of names that
/// have been gone for ten minutes. For the feed's thread alone.
/// </summary>
internal sealed class SessionStatusFeed
{
    private static readonly TimeSpan _forgetAfter = TimeSpan.FromMinutes(10);
    private static readonly string[] _parts = ["stats", "status", "requests"];

    private readonly Hub _hub;
    private readonly ISessionDirectory _directory;
    private readonly TimeProvider _time;
    private readonly Dictionary<string, Known> _sessions = new(StringComparer.Ordinal);
    private int _look;

    public SessionStatusFeed(Hub hub, ISessionDirectory directory, TimeProvider time)
    {
        _hub = hub;
        _directory = directory;
        _time = time;
    }

    /// <summary>Number of registered sessions.</summary>
    public int Online { get; private set; }

    /// <summary>A channel of a session; it exists while the session is known.</summary>
    /// <param name="name">The session's name.</param>
    /// <param name="part">The last part of the channel's name.</param>
    public HubChannel ChannelOf(string name, string part)
    {
        if (!_sessions.TryGetValue(name, out var known))
        {
            // A request of a session that came and went between two comparisons.
            _sessions.Add(name, known = new Known { Look = _look, GoneAt = _time.GetTimestamp() });
        }

        if (!known.Channels.TryGetValue(part, out var channel))
        {
            known.Channels.Add(part, channel = _hub.GetChannel($"session.{name}.{part}"));
        }

        return channel;
    }

    /// <summary>Compares with the directory.</summary>
    public void Look()
    {
        _look++;
        var sessions = _directory.Snapshot();
        Online = sessions.Count;
        foreach (var session in sessions)
        {
            var channel = ChannelOf(session.Name, "status");
            var known = _sessions[session.Name];
            known.Look = _look;
            var uplinks = session.Tunnel.Uplinks.Count;
            if (known.Session != session || known.Uplinks != uplinks)
            {
                (known.Session, known.Uplinks) = (session, uplinks);
                Publish(channel, session.Name, session, uplinks);
            }
        }

        List<string>? forgotten = null;
        foreach (var (name, known) in _sessions)
        {
            if (known.Look == _look)
            {
                continue;
            }

            if (known.Session is not null)
            {
                known.Session = null;
                known.GoneAt = _time.GetTimestamp();
                Publish(ChannelOf(name, "status"), name, null, 0);
            }
            else if (_time.GetElapsedTime(known.GoneAt) > _forgetAfter)
            {
                (forgotten ??= []).Add(name);
            }
        }

        foreach (var name in forgotten ?? [])
        {
            _sessions.Remove(name, out var known);
            foreach (var channel in known!.Channels.Values)
            {
                _hub.RemoveChannel(channel);
            }
        }
    }

    private void Publish(HubChannel channel, string name, EntrySession? session, int uplinks)
    {
        var buffer = new ArrayBufferWriter<byte>(160);
        using (var json = new Utf8JsonWriter(buffer))
        {
            json.WriteStartObject();
            json.WriteString("session", name);
            json.WriteBoolean("online", session is not null);
            if (session is not null)
            {
                json.WriteString("sessionId", session.DisplayId);
                json.WriteString("agent", session.AgentVersion);
                json.WriteNumber("uplinks", uplinks);
            }

            json.WriteEndObject();
        }

        _hub.Publish(channel, "status", buffer.WrittenMemory);
    }

    private sealed class Known
    {
        public Dictionary<string, HubChannel> Channels { get; } = new(_parts.Length, StringComparer.Ordinal);

        public EntrySession? Session { get; set; }

        public int Uplinks { get; set; }

        public int Look { get; set; }

        public long GoneAt { get; set; }
    }
}
