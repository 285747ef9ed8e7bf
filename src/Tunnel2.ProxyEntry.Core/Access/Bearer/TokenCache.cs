using System.Collections.Concurrent;
using Tunnel2.ProxyEntry.Access.Keys;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>
/// Tokens that were found right, each until it expires or its issuer's keys change. A look-up takes no lock. Bounded: the oldest makes
/// room. Thread-safe.
/// </summary>
internal sealed class TokenCache
{
    /// <summary>How many tokens are remembered at most.</summary>
    public const int Most = 10_000;

    private readonly Lock _gate = new();
    private readonly ConcurrentDictionary<TokenKey, KnownToken> _known = new();
    private readonly Queue<TokenKey> _order = new();

    /// <summary>Tokens remembered now.</summary>
    public int Count => _known.Count;

    /// <summary>A token that was found right by these keys; null: none is known.</summary>
    /// <param name="key">The token and the rule.</param>
    /// <param name="keys">The keys of the issuer now.</param>
    public KnownToken? Find(in TokenKey key, KeySet keys) =>
        _known.TryGetValue(key, out var known) && ReferenceEquals(known.Keys, keys) ? known : null;

    /// <summary>Remembers a token.</summary>
    public void Add(in TokenKey key, KnownToken known)
    {
        lock (_gate)
        {
            if (_known.ContainsKey(key))
            {
                _known[key] = known;
                return;
            }

            while (_order.Count >= Most)
            {
                _known.TryRemove(_order.Dequeue(), out _);
            }

            _order.Enqueue(key);
            _known[key] = known;
        }
    }
}

/// <summary>A token and the rule by which it was judged.</summary>
/// <param name="Token">The token.</param>
/// <param name="Rule">The rule.</param>
internal readonly record struct TokenKey(LoginKey Token, BearerRule Rule)
{
    /// <summary>By the token alone: it is random, and hashing the rule's texts would take longer.</summary>
    public override int GetHashCode() => Token.A.GetHashCode();
}

/// <summary>A token that was found right. Immutable.</summary>
/// <param name="User">Whose it is.</param>
/// <param name="Until">When it expires, with the tolerance for clocks.</param>
/// <param name="Keys">The keys that it was checked with.</param>
internal sealed record KnownToken(byte[] User, DateTimeOffset Until, KeySet Keys);
