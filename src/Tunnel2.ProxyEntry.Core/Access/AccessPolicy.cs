using System.Net;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>
/// Who may visit a session: the agent's rules and those of the server for its token. Both have to allow. Thread-safe.
/// </summary>
internal sealed class AccessPolicy
{
    /// <summary>How many wrong logins are known again without the slow hash.</summary>
    private const int RememberedWrong = 64;

    /// <summary>How many logins of one session are checked or wait for it.</summary>
    private const int MostChecks = 8;

    private readonly Lock _gate = new();
    private readonly AccessSet[] _sets;
    private readonly LoginKey[] _wrong = new LoginKey[RememberedWrong];
    private readonly Dictionary<LoginKey, (Task<bool?> Check, AddressKey From)> _checks = [];
    private int _wrongCount;

    /// <param name="sets">The rules of each side, at least one.</param>
    /// <param name="budget">The wrong logins that the session may still get.</param>
    public AccessPolicy(AccessSet[] sets, LoginBudget budget)
    {
        _sets = sets;
        Budget = budget;
        LimitsAddresses = Array.Exists(sets, static set => set.LimitsAddresses);
        NeedsLogin = Array.Exists(sets, static set => set.NeedsLogin);
        BearerRule[] tokens = [.. sets.Select(static set => set.Tokens).OfType<BearerRule>().Distinct()];
        Tokens = tokens.Length == 0 ? null : tokens;
        ClientAuthoritySet[] authorities = [.. sets.Select(static set => set.Authorities).OfType<ClientAuthoritySet>()];
        Authorities = authorities.Length == 0 ? null : authorities;
    }

    /// <summary>The wrong logins that the session may still get.</summary>
    public LoginBudget Budget { get; }

    /// <summary>Whether there is a rule about addresses.</summary>
    public bool LimitsAddresses { get; }

    /// <summary>Whether a login is needed.</summary>
    public bool NeedsLogin { get; }

    /// <summary>The tokens that visitors have to show, each side's; null: none.</summary>
    public IReadOnlyList<BearerRule>? Tokens { get; }

    /// <summary>The authorities of each side, all of which have to have issued a visitor's certificate; null: none is needed.</summary>
    public IReadOnlyList<ClientAuthoritySet>? Authorities { get; }

    /// <summary>The public name of the session.</summary>
    public string Tunnel { get; init; } = "";

    /// <summary>Whose logins take turns with those of others; see <see cref="PasswordChecks"/>.</summary>
    public string Owner { get; init; } = "";

    /// <summary>The gate where visitors sign in, and the tunnel; null: they do not.</summary>
    public SignInPlace? Place { get; init; }

    /// <summary>Whether an address may visit; null: it is not known.</summary>
    public bool Allows(IPAddress? address) => Array.TrueForAll(_sets, set => set.Allows(address));

    /// <summary>Judges a login as far as that takes no time.</summary>
    /// <param name="authorization">The value of <c>Authorization</c>.</param>
    /// <param name="from">
    /// The visitor's address. Elsewhere than where a login was right, it takes an attempt to learn that it is: otherwise who has none left
    /// could continue to guess.
    /// </param>
    /// <param name="user">The user's name, when the login is right.</param>
    /// <param name="login">The login, when it takes more to decide.</param>
    public LoginState Judge(ReadOnlySpan<byte> authorization, AddressKey from, out byte[]? user, out BasicLogin? login)
    {
        user = null;
        login = null;
        Span<byte> room = stackalloc byte[BasicPair.LongestValue];
        var colon = BasicPair.TryDecode(authorization, room, out var pair);
        if (colon < 0)
        {
            return LoginState.Missing;
        }

        var key = LoginKey.Of(pair);
        if (FindKnown(pair[..colon], key, from) is { } known)
        {
            user = known.Name;
            return LoginState.Right;
        }

        lock (_gate)
        {
            if (_wrong.AsSpan(0, Math.Min(_wrongCount, RememberedWrong)).Contains(key))
            {
                return LoginState.Wrong;
            }
        }

        login = new BasicLogin(pair, colon, key, from);
        return LoginState.Unknown;
    }

    /// <summary>Whether a login was found right before, at any address.</summary>
    public bool Knows(BasicLogin login) => FindKnown(login.User, login.Key, null) is not null;

    /// <summary>The user of a login that was found right, from now on at its address too; null: it was not.</summary>
    public byte[]? UserOf(BasicLogin login)
    {
        if (FindKnown(login.User, login.Key, null) is not { } known)
        {
            return null;
        }

        foreach (var set in _sets)
        {
            if (set.NeedsLogin)
            {
                set.Find(login.User)!.Remember(login.Key, login.From);
            }
        }

        return known.Name;
    }

    /// <summary>The check of the same login from the same address that runs already; null: none does.</summary>
    public Task<bool?>? FindCheck(BasicLogin login)
    {
        lock (_gate)
        {
            return _checks.TryGetValue(login.Key, out var running) && running.From == login.From ? running.Check : null;
        }
    }

    /// <summary>Checks a login by the slow hash, on the pool; the same login of several requests once.</summary>
    /// <param name="login">The login.</param>
    /// <param name="checks">Bounds how many are computed at once.</param>
    /// <returns>Whether it is right, null when it was not checked after all; no task: too many are checked.</returns>
    public Task<bool?>? CheckAsync(BasicLogin login, PasswordChecks checks)
    {
        lock (_gate)
        {
            if (_checks.TryGetValue(login.Key, out var running))
            {
                return running.Check;
            }

            if (_checks.Count >= MostChecks || checks.TryRun(Owner, () => Matches(login)) is not { } check)
            {
                return null;
            }

            var finished = FinishAsync(login, check);
            _checks[login.Key] = (finished, login.From);
            return finished;
        }
    }

    private bool Matches(BasicLogin login)
    {
        var isRight = true;
        foreach (var set in _sets)
        {
            isRight &= !set.NeedsLogin || set.Matches(login);
        }

        return isRight;
    }

    private async Task<bool?> FinishAsync(BasicLogin login, Task<bool?> check)
    {
        bool? isRight = null;
        try
        {
            // Never at once: the caller notes the check first, under the lock.
            isRight = await check.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        }
        finally
        {
            lock (_gate)
            {
                _checks.Remove(login.Key);
                if (isRight == false)
                {
                    _wrong[_wrongCount++ % RememberedWrong] = login.Key;
                    _wrongCount = _wrongCount == 2 * RememberedWrong ? RememberedWrong : _wrongCount;
                }
            }
        }

        return isRight;
    }

    /// <summary>The user of a login that every side has found right, at this address or (null) at any; null otherwise.</summary>
    private BasicUser? FindKnown(ReadOnlySpan<byte> name, in LoginKey key, AddressKey? from)
    {
        BasicUser? known = null;
        foreach (var set in _sets)
        {
            if (set.NeedsLogin)
            {
                known = set.Find(name);
                if (known is null || !(from is { } address ? known.Knows(key, address) : known.Knows(key)))
                {
                    return null;
                }
            }
        }

        return known;
    }
}
