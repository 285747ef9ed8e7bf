using System.Buffers.Text;
using System.Collections.Concurrent;
using System.Security.Cryptography;
using Microsoft.AspNetCore.DataProtection;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// Seals and opens the sessions of visitors. A session is for one gate, one provider and one tunnel. One that was opened before is known
/// again. What is remembered is bounded: the oldest makes room. Thread-safe.
/// </summary>
/// <param name="protection">Has the keys, which are replaced from time to time.</param>
/// <param name="time">The clock.</param>
internal sealed class OidcSessions(IDataProtectionProvider protection, TimeProvider time)
{
    /// <summary>How many open sessions, and how many ended ones, are remembered.</summary>
    public const int Most = 10_000;

    private readonly Lock _gate = new();
    private readonly ConcurrentDictionary<LoginKey, KnownSession> _known = new();
    private readonly ConcurrentDictionary<string, bool> _ended = new(StringComparer.Ordinal);
    private readonly Queue<LoginKey> _knownOrder = new();
    private readonly Queue<string> _endedOrder = new();

    /// <summary>Seals a session, as the value of a cookie.</summary>
    public string Seal(OidcGate gate, string tunnel, OidcSession session) =>
        Base64Url.EncodeToString(ProtectorOf(gate, tunnel).Protect(session.ToBytes()));

    /// <summary>The user of a session that was opened before; null: none, or it is over.</summary>
    public byte[]? Find(in SignInPlace place, in LoginKey key) =>
        _known.TryGetValue(key, out var known) && known.Place == place && known.Until > time.GetUtcNow().ToUnixTimeSeconds()
        && (_ended.IsEmpty || !_ended.ContainsKey(known.Id))
            ? known.User
            : null;

    /// <summary>Opens a session.</summary>
    /// <returns>The user; null when the session was not sealed here for this place, is over, or its user may not enter any more.</returns>
    public byte[]? Open(OidcGate gate, string tunnel, PendingSession pending)
    {
        if (TryOpen(gate, tunnel, pending.Text) is not { } session
            || session.Until <= time.GetUtcNow().ToUnixTimeSeconds()
            || _ended.ContainsKey(session.Id)
            || OidcGate.UserOf(session.Email) is not { } user
            || !gate.Allows(session.Email, session.Groups))
        {
            return null;
        }

        var known = new KnownSession(new SignInPlace(gate.Entry.Name, tunnel), user, session.Until, session.Id);
        lock (_gate)
        {
            if (_known.TryAdd(pending.Key, known))
            {
                _knownOrder.Enqueue(pending.Key);
                if (_knownOrder.Count > Most)
                {
                    _known.TryRemove(_knownOrder.Dequeue(), out _);
                }
            }
        }

        return user;
    }

    /// <summary>Ends a session, so that a copy of its cookie opens nothing either.</summary>
    /// <returns>The session; null: it was not sealed here for this place.</returns>
    public OidcSession? End(OidcGate gate, string tunnel, string cookie)
    {
        var session = TryOpen(gate, tunnel, cookie);
        if (session is not null)
        {
            End(session.Id);
        }

        return session;
    }

    /// <summary>Ends the session of this number, so that its cookie opens nothing.</summary>
    public void End(string id)
    {
        lock (_gate)
        {
            if (_ended.TryAdd(id, true))
            {
                _endedOrder.Enqueue(id);
                if (_endedOrder.Count > Most)
                {
                    _ended.TryRemove(_endedOrder.Dequeue(), out _);
                }
            }
        }
    }

    private OidcSession? TryOpen(OidcGate gate, string tunnel, string cookie)
    {
        try
        {
            return OidcSession.TryRead(ProtectorOf(gate, tunnel).Unprotect(Base64Url.DecodeFromChars(cookie)));
        }
        catch (Exception exception) when (exception is CryptographicException or FormatException)
        {
            return null;
        }
    }

    /// <summary>A session of another gate, provider or tunnel cannot be opened with it.</summary>
    private IDataProtector ProtectorOf(OidcGate gate, string tunnel) => protection.CreateProtector(
        "Tunnel2.SignIn.1", gate.Entry.Name, gate.Entry.Authority!.AbsoluteUri, gate.Entry.ClientId!, tunnel);

    private sealed record KnownSession(SignInPlace Place, byte[] User, long Until, string Id);
}
