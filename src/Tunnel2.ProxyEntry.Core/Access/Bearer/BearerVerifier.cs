using System.Collections.Concurrent;
using System.Text;
using Microsoft.IdentityModel.JsonWebTokens;
using Microsoft.IdentityModel.Tokens;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>
/// Checks the tokens (JWT) of visitors. One that was right is known again until it expires; others are checked on the pool, at most half of
/// the processors at once, and at most some wait. Thread-safe.
/// </summary>
internal sealed class BearerVerifier : IDisposable
{
    /// <summary>How many tokens are checked or wait for it, and for keys.</summary>
    public const int Most = 1024;

    /// <summary>How many of them for one issuer: one that does not answer holds up its own tunnels alone.</summary>
    public const int MostOfIssuer = Most / 4;

    /// <summary>How many of them for one address of visitors: a flood of wrong ones must not keep out the tokens of others.</summary>
    public const int MostOfAddress = MostOfIssuer / 2;

    /// <summary>The tolerance for clocks that differ.</summary>
    public static readonly TimeSpan Skew = TimeSpan.FromSeconds(60);

    private const int LongestUser = 256;

    /// <summary>Signatures by a private key. Those by a shared secret, and none at all, are not among them.</summary>
    private static readonly string[] _algorithms =
        ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"];

    /// <summary>Kinds of tokens that are for a service. Others of the same issuer, such as one that ends a login, are not.</summary>
    private static readonly string[] _types = ["JWT", "at+jwt", "application/at+jwt"];

    private readonly JsonWebTokenHandler _handler = new();
    private readonly CryptoProviderFactory _providers = new() { CacheSignatureProviders = false };
    private readonly ConcurrentDictionary<TokenIssuer, IssuerKeys> _issuers = new();
    private readonly TokenCache _cache = new();
    private readonly SemaphoreSlim _places = new(Math.Max(1, Environment.ProcessorCount / 2));
    private readonly AddressShares _addresses = new(Most, MostOfAddress);
    private readonly KeyFetch _fetch;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;

    /// <param name="fetch">Fetches keys; the verifier disposes of it.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logger">The log.</param>
    public BearerVerifier(KeyFetch fetch, TimeProvider time, ILogger<BearerVerifier> logger)
    {
        _fetch = fetch;
        _time = time;
        _logger = logger;
    }

    /// <summary>The user of a token that was found right before; null: it has to be checked.</summary>
    /// <param name="token">The token.</param>
    /// <param name="rules">The rules, all of which it has to suit.</param>
    public byte[]? FindUser(in LoginKey token, IReadOnlyList<BearerRule> rules)
    {
        byte[]? user = null;
        for (var i = 0; i < rules.Count; i++)
        {
            var rule = rules[i];
            if (KeysOf(rule.Issuer).Find() is not { } keys
                || _cache.Find(new TokenKey(token, rule), keys) is not { } known
                || known.Until <= _time.GetUtcNow())
            {
                return null;
            }

            user = known.User;
        }

        return user;
    }

    /// <summary>Checks a token; fetches keys for it where that is needed and not too often.</summary>
    /// <param name="token">The token.</param>
    /// <param name="rules">The rules, all of which it has to suit.</param>
    /// <param name="cancellationToken">The visitor left.</param>
    /// <exception cref="OperationCanceledException">The visitor left.</exception>
    public async Task<TokenVerdict> CheckAsync(
        PendingToken token, IReadOnlyList<BearerRule> rules, CancellationToken cancellationToken)
    {
        if (!_addresses.TryTake(token.From))
        {
            return new TokenVerdict(TokenState.Unchecked);
        }

        try
        {
            var verdict = new TokenVerdict(TokenState.Unchecked);
            foreach (var rule in rules)
            {
                verdict = await CheckInTurnAsync(token, rule, KeysOf(rule.Issuer), cancellationToken).ConfigureAwait(false);
                if (verdict.State != TokenState.Right)
                {
                    break;
                }
            }

            return verdict;
        }
        finally
        {
            _addresses.Return(token.From);
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _fetch.Dispose();
        _places.Dispose();
    }

    private IssuerKeys KeysOf(TokenIssuer issuer) =>
        _issuers.GetOrAdd(issuer, static (issuer, self) => new IssuerKeys(issuer, self._fetch, self._time, self._logger), this);

    private async Task<TokenVerdict> CheckInTurnAsync(
        PendingToken token, BearerRule rule, IssuerKeys issuer, CancellationToken cancellationToken)
    {
        if (!issuer.Checks.TryTake(token.From))
        {
            return new TokenVerdict(TokenState.Unchecked);
        }

        try
        {
            return await CheckAsync(token, rule, issuer, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            issuer.Checks.Return(token.From);
        }
    }

    private async Task<TokenVerdict> CheckAsync(
        PendingToken token, BearerRule rule, IssuerKeys issuer, CancellationToken cancellationToken)
    {
        var keys = issuer.Find();
        if (keys is null)
        {
            if (issuer.TryRefresh(null) is not { } fetch)
            {
                return new TokenVerdict(TokenState.Unchecked);
            }

            await fetch.WaitAsync(cancellationToken).ConfigureAwait(false);
            keys = issuer.Find();
            if (keys is null)
            {
                return new TokenVerdict(TokenState.Unchecked);
            }
        }

        var result = await CheckAsync(token, rule, keys, cancellationToken).ConfigureAwait(false);
        if (result is null && issuer.TryRefresh(keys) is { } refresh)
        {
            await refresh.WaitAsync(cancellationToken).ConfigureAwait(false);
            if (issuer.Find() is { } newer && !ReferenceEquals(newer, keys))
            {
                result = await CheckAsync(token, rule, newer, cancellationToken).ConfigureAwait(false);
            }
        }

        return result ?? new TokenVerdict(TokenState.Invalid);
    }

    /// <summary>Checks a token with the keys that are there.</summary>
    /// <returns>The verdict; null when none of the keys has signed the token.</returns>
    private async Task<TokenVerdict?> CheckAsync(
        PendingToken token, BearerRule rule, KeySet keys, CancellationToken cancellationToken)
    {
        await _places.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            return await Task.Run(() => VerifyAsync(token, rule, keys), CancellationToken.None).ConfigureAwait(false);
        }
        finally
        {
            _places.Release();
        }
    }

    private async Task<TokenVerdict?> VerifyAsync(PendingToken token, BearerRule rule, KeySet keys)
    {
        try
        {
            var jwt = new JsonWebToken(token.Text);
            var now = _time.GetUtcNow();
            if (!TokenClaims.AreWellFormed(jwt) || !IsMeant(jwt, rule) || jwt.ValidTo == DateTime.MinValue
                || jwt.ValidFrom > (now + Skew).UtcDateTime)
            {
                return new TokenVerdict(TokenState.Invalid);
            }

            var candidates = keys.Find(jwt.Kid ?? "", jwt.Alg);
            if (candidates.Count == 0)
            {
                return null;
            }

            var result = await _handler.ValidateTokenAsync(jwt, ParametersOf(rule, candidates)).ConfigureAwait(false);
            var until = Later(jwt.ValidTo);
            if (!result.IsValid)
            {
                // None of these keys has signed it. The issuer may have replaced one by another of the same name, or without a name.
                return null;
            }

            if (!IsUser(jwt.Subject))
            {
                return new TokenVerdict(TokenState.Invalid);
            }

            // Only after the signature: a forged token must not learn which of its parts were right.
            if (until <= now)
            {
                return new TokenVerdict(TokenState.Expired);
            }

            var user = Encoding.ASCII.GetBytes(jwt.Subject);
            _cache.Add(new TokenKey(token.Key, rule), new KnownToken(user, until, keys));
            return new TokenVerdict(TokenState.Right, user);
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            // Such a text of a stranger is no token: the library throws for much of it.
            return new TokenVerdict(TokenState.Invalid);
        }
    }

    private static bool IsMeant(JsonWebToken jwt, BearerRule rule) =>
        Array.IndexOf(_algorithms, jwt.Alg) >= 0
        && (string.IsNullOrEmpty(jwt.Typ) || _types.Contains(jwt.Typ, StringComparer.OrdinalIgnoreCase))
        && !jwt.TryGetHeaderValue<object>("crit", out _)
        && string.Equals(jwt.Issuer, rule.Issuer.Name, StringComparison.Ordinal)
        && jwt.Audiences.Contains(rule.Audience, StringComparer.Ordinal);

    private static DateTimeOffset Later(DateTime end) =>
        end > DateTime.MaxValue - Skew ? DateTimeOffset.MaxValue : new DateTimeOffset(DateTime.SpecifyKind(end, DateTimeKind.Utc)) + Skew;

    /// <summary>Whether a subject can be the value of a field.</summary>
    private static bool IsUser(string? subject) => subject is { Length: > 0 and <= LongestUser }
        && !subject.AsSpan().ContainsAnyExceptInRange(' ', '~') && subject[0] != ' ' && subject[^1] != ' ';

    private TokenValidationParameters ParametersOf(BearerRule rule, IReadOnlyList<SecurityKey> keys) => new()
    {
        ValidAlgorithms = _algorithms,

        // All of them are tried: by itself the library tries the first one with the name that the token has.
        IssuerSigningKeyResolver = (_, _, _, _) => keys,
        RequireSignedTokens = true,
        ValidIssuer = rule.Issuer.Name,
        ValidAudience = rule.Audience,
        IgnoreTrailingSlashWhenValidatingAudience = false,
        CryptoProviderFactory = _providers,

        // The clock is that of the server, which the library does not know: the caller judges the time.
        ValidateLifetime = false,
    };
}
