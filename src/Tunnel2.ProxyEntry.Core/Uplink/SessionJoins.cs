using System.Collections.Concurrent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// The sessions of this process that further uplinks may join, by session id. A JOIN is accepted if it proves to know the session's secret
/// and its counter is higher than all accepted before; a refused one changes nothing. Thread-safe.
/// </summary>
internal sealed class SessionJoins
{
    /// <summary>The wait for an agent that has a session here: its address may lead to another node later.</summary>
    private static readonly TimeSpan _otherAddress = TimeSpan.FromMinutes(1);

    private static readonly byte[] _nobodysSecret = new byte[WelcomeMessage.JoinSecretLength];

    private readonly ConcurrentDictionary<Guid, Entry> _sessions = new();

    /// <summary>Sessions that can be joined.</summary>
    public int Count => _sessions.Count;

    /// <summary>All of them.</summary>
    public IEnumerable<EntrySession> All => _sessions.Values.Select(static entry => entry.Session);

    /// <summary>A session begins: its agent may send JOINs after the WELCOME.</summary>
    public void Add(EntrySession session) => _sessions[KeyOf(session.SessionId)] = new Entry(session);

    /// <summary>The session is over.</summary>
    public void Remove(EntrySession session) => _sessions.TryRemove(KeyOf(session.SessionId), out _);

    /// <summary>
    /// Judges a JOIN. The proof is also computed for an unknown session, so the time of the answer does not show whether it exists.
    /// </summary>
    /// <returns>The session; null when it is unknown, the proof is wrong or the counter is not new.</returns>
    public EntrySession? Find(JoinMessage join)
    {
        _sessions.TryGetValue(KeyOf(join.SessionId), out var entry);
        var isProven = join.IsProvenBy(entry is null ? _nobodysSecret : entry.Session.JoinSecret.Span);
        return isProven && entry is not null && entry.TryAdvance(join.Counter) ? entry.Session : null;
    }

    /// <summary>
    /// Refuses an agent of which a session runs here, as it says: a new one would cut what that one carries. One that was asked to go
    /// elsewhere is in no other one's way.
    /// </summary>
    /// <param name="hello">What it says.</param>
    /// <param name="instance">Its process.</param>
    /// <param name="entryId">This node.</param>
    public RejectMessage? Refuse(HelloMessage hello, AgentIdentity instance, string entryId)
    {
        foreach (var id in hello.Running)
        {
            if (_sessions.TryGetValue(id, out var entry) && entry.Session.Instance == instance && !entry.Session.IsLeaving
                && entry.Session.Tunnel.Uplinks.Any(static uplink => uplink.IsOpenForStreams && !uplink.HasSaidGoodbye))
            {
                return new RejectMessage(
                    RejectCode.SessionRunning, _otherAddress, $"This is {entryId}, with which the agent has a session already.");
            }
        }

        return null;
    }

    private static Guid KeyOf(ReadOnlyMemory<byte> sessionId) => new(sessionId.Span);

    private sealed class Entry(EntrySession session)
    {
        private readonly Lock _gate = new();
        private ulong _highest;

        public EntrySession Session => session;

        public bool TryAdvance(ulong counter)
        {
            lock (_gate)
            {
                if (counter <= _highest)
                {
                    return false;
                }

                _highest = counter;
                return true;
            }
        }
    }
}
