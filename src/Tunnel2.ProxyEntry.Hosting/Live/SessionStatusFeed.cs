using System.Buffers;
using System.Text.Json;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Publishes on <c>session.{name}.status</c> when a session comes, goes or changes, within a second, and forgets the channels of names
/// that have been gone for ten minutes. For the feed's thread alone, except for <see cref="ChannelOf"/> and <see cref="Online"/>.
/// </summary>
internal sealed class SessionStatusFeed
{
    private static readonly TimeSpan _forgetAfter = TimeSpan.FromMinutes(10);
    private static readonly string[] _parts = ["stats", "status", "requests"];

    private readonly Hub _hub;
    private readonly ISessionDirectory _directory;
    private readonly TimeProvider _time;
    private readonly Lock _lock = new(); // Of the dictionary and of what a session has of channels. Nothing is published with it held.
    private readonly Dictionary<string, Known> _sessions = new(StringComparer.Ordinal);
    private int _look;
    private int _online;

    public SessionStatusFeed(Hub hub, ISessionDirectory directory, TimeProvider time)
    {
        _hub = hub;
        _directory = directory;
        _time = time;
    }

    /// <summary>Sessions that are registered.</summary>
    public int Online => Volatile.Read(ref _online);

    /// <summary>A channel of a session, to be published to at once; it lives as long as the session is known. On any thread.</summary>
    /// <param name="name">The session's name.</param>
    /// <param name="part">The last part of the channel's name.</param>
    public HubChannel ChannelOf(string name, string part)
    {
        lock (_lock)
        {
            var known = KnownUnsynchronized(name);
            if (!known.Channels.TryGetValue(part, out var channel))
            {
                known.Channels.Add(part, channel = _hub.GetChannel($"session.{name}.{part}"));
            }

            known.UsedIn = _look;
            return channel;
        }
    }

    /// <summary>Compares with the directory.</summary>
    public void Look()
    {
        lock (_lock)
        {
            _look++;
        }

        var sessions = _directory.Snapshot();
        Volatile.Write(ref _online, sessions.Count);
        foreach (var session in sessions)
        {
            var pool = session.Member?.Pool;
            if (pool is not null && pool.Speaker.Session != session)
            {
                // One session of a pool speaks for the name.
                continue;
            }

            var channel = ChannelOf(session.ShownName, "status");
            Known known;
            lock (_lock)
            {
                known = KnownUnsynchronized(session.ShownName);
            }

            known.Look = _look;
            var uplinks = pool is null ? session.Tunnel.Uplinks.Count : pool.Members.Sum(static one => one.Session.Tunnel.Uplinks.Count);
            if (known.Session != session || known.Uplinks != uplinks)
            {
                (known.Session, known.Uplinks) = (session, uplinks);
                Publish(channel, session.ShownName, session, uplinks);
            }
        }

        foreach (var (name, known) in Absent())
        {
            if (known.Session is not null)
            {
                known.Session = null;
                known.GoneAt = _time.GetTimestamp();
                known.WasOnline = true;
                Publish(ChannelOf(name, "status"), name, null, 0);
            }
            else if (_time.GetElapsedTime(known.GoneAt) > _forgetAfter)
            {
                Forget(name, known);
            }
        }
    }

    /// <summary>Names that had a session, and since when they have none, ms since 1970; forgotten with their channels.</summary>
    public IReadOnlyList<(string Name, long Since)> Gone()
    {
        var now = _time.GetUtcNow().ToUnixTimeMilliseconds();
        lock (_lock)
        {
            return
            [
                .. _sessions.Where(static pair => pair.Value is { Session: null, WasOnline: true })
                    .Select(pair => (pair.Key, now - (long)_time.GetElapsedTime(pair.Value.GoneAt).TotalMilliseconds)),
            ];
        }
    }

    /// <summary>What the look has not found in the directory.</summary>
    private List<KeyValuePair<string, Known>> Absent()
    {
        lock (_lock)
        {
            return [.. _sessions.Where(pair => pair.Value.Look != _look)];
        }
    }

    private void Forget(string name, Known known)
    {
        lock (_lock)
        {
            // Since the last look a partition was given a channel, which it may not have published to yet.
            if (known.UsedIn >= _look - 1)
            {
                return;
            }

            _sessions.Remove(name);
        }

        foreach (var channel in known.Channels.Values)
        {
            _hub.RemoveChannel(channel);
        }
    }

    private Known KnownUnsynchronized(string name)
    {
        if (!_sessions.TryGetValue(name, out var known))
        {
            // A request of a session that came and went between two looks.
            _sessions.Add(name, known = new Known { Look = _look, GoneAt = _time.GetTimestamp() });
        }

        return known;
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

        /// <summary>The last look that found it in the directory.</summary>
        public int Look { get; set; }

        /// <summary>The last look before a channel of it was used.</summary>
        public int UsedIn { get; set; }

        public long GoneAt { get; set; }

        /// <summary>Whether a look has found it, and a later one has not.</summary>
        public bool WasOnline { get; set; }
    }
}
