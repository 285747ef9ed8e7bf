using System.Buffers;
using System.Net;
using System.Text;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>
/// Decides whether a visitor may use a session that has access rules, before a stream is opened. Addresses and logins that were right
/// before are judged at once; other logins by the slow hash, on the pool. Thread-safe.
/// </summary>
internal sealed partial class AccessGate
{
    private readonly TrustedProxySet _trusted;
    private readonly LoginAttempts _attempts;
    private readonly PasswordChecks _checks;
    private readonly Lazy<BearerVerifier> _tokens;
    private readonly ISignIn _signIn;
    private readonly int _mostHead;
    private readonly ProxyEntryMetrics _metrics;
    private readonly TimeProvider _time;

    public AccessGate(
        ProxyEntrySettings settings, LoginAttempts attempts, PasswordChecks checks, Lazy<BearerVerifier> tokens, ISignIn signIn,
        ProxyEntryMetrics metrics, TimeProvider? time = null)
    {
        _time = time ?? TimeProvider.System;
        _signIn = signIn;
        _mostHead = settings.MaxRequestHeadBytes;
        _tokens = tokens;
        _trusted = settings.TrustedProxies;
        _attempts = attempts;
        _checks = checks;
        _metrics = metrics;
    }

    /// <summary>What a visitor counts as where its address may have a share only.</summary>
    public AddressKey KeyOf(VisitorExchange exchange) => AddressKey.OfAny(AddressOf(exchange, null));

    /// <summary>Judges a request.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">The forwarder's state of the request.</param>
    /// <param name="policy">The rules of its session.</param>
    /// <returns>
    /// Why it may not pass, or null. <see cref="ProxyError.LoginRequired"/> is not final when <see cref="IsUndecided"/> says so.
    /// </returns>
    public ProxyError? Check(VisitorExchange exchange, ForwardedRequest request, AccessPolicy policy)
    {
        if (request.NoteOf<AccessNote>() is { } known && known.Admitted == policy)
        {
            return null;
        }

        var address = policy.LimitsAddresses ? VisitorOrigin.Find(exchange, _trusted) : null;
        if (policy.LimitsAddresses && !policy.Allows(address))
        {
            return Refuse(ProxyError.AddressNotAllowed);
        }

        if (policy.Authorities is not null && CheckCertificate(exchange, policy) is { } refused)
        {
            return refused;
        }

        if (policy.Place is { } place)
        {
            return CheckSignIn(exchange, request, policy, place);
        }

        if (policy.Tokens is { } rules)
        {
            return CheckToken(exchange, request, policy, rules);
        }

        if (!policy.NeedsLogin)
        {
            if (policy.Authorities is not null)
            {
                Admit(exchange, request, Begin(request), policy, exchange.Certificate!.User, isUsed: false);
            }

            return null;
        }

        Span<byte> value = stackalloc byte[BasicPair.LongestValue];
        var length = exchange.CopyField("authorization"u8, value);
        if (length < 0)
        {
            return Refuse(ProxyError.LoginRequired);
        }

        address = AddressOf(exchange, address);
        var state = policy.Judge(value[..length], AddressKey.OfAny(address), out var user, out var login);
        var note = Begin(request);
        switch (state)
        {
            case LoginState.Right:
                Admit(exchange, request, note, policy, user!);
                return null;
            case LoginState.Wrong:
                return _attempts.TryTake(address, policy.Budget, out var wait)
                    ? Refuse(ProxyError.LoginRequired)
                    : Limit(note, wait);
            case LoginState.Unknown:
                (note.Policy, note.Login) = (policy, login);
                return ProxyError.LoginRequired;
            default:
                return Refuse(ProxyError.LoginRequired);
        }
    }

    /// <summary>Whether something has to be judged that <see cref="Check"/> could not, because that takes time.</summary>
    public static bool IsUndecided(ForwardedRequest request) =>
        request.NoteOf<AccessNote>() is { Login: not null } or { Token: not null } or { Session: not null } or { Visit: not null };

    /// <summary>Judges what <see cref="Check"/> could not. Afterwards the caller is on the visitor's event loop again.</summary>
    /// <returns>Why the request may not pass, or null: then <see cref="Check"/> lets it pass, unless the rules have changed.</returns>
    public async ValueTask<ProxyError?> DecideAsync(VisitorExchange exchange, ForwardedRequest request)
    {
        var note = request.NoteOf<AccessNote>()!;
        if (note.Visit is { } visit)
        {
            return await DecideAsync(exchange, note, visit).ConfigureAwait(false);
        }

        if (note.Session is { } session)
        {
            return await DecideAsync(exchange, request, note, session).ConfigureAwait(false);
        }

        if (note.Token is { } token)
        {
            return await DecideAsync(exchange, request, note, token).ConfigureAwait(false);
        }

        var (policy, login) = (note.Policy!, note.Login!);
        (note.Policy, note.Login) = (null, null);
        var (error, wait) = await CheckAsync(exchange, policy, login).ConfigureAwait(false);
        if (exchange.Home is { } home)
        {
            await new SchedulerYield(home);
        }

        if (error is null && policy.UserOf(login) is { } user)
        {
            Admit(exchange, request, note, policy, user);
            return null;
        }

        return error == ProxyError.TooManyLogins ? Limit(note, wait) : Refuse(ProxyError.LoginRequired);
    }

    private ProxyError? CheckToken(
        VisitorExchange exchange, ForwardedRequest request, AccessPolicy policy, IReadOnlyList<BearerRule> rules)
    {
        var room = ArrayPool<byte>.Shared.Rent(BearerToken.LongestValue);
        try
        {
            var length = exchange.CopyField("authorization"u8, room);
            if (length < 0 && exchange.FieldValues("authorization", withLookalikes: false) is [var value] && BearerToken.IsMeant(value))
            {
                // Longer than any token that is read: without this its visitor would be asked for what it has shown.
                return Refuse(ProxyError.TokenInvalid);
            }

            if (length < 0 || !BearerToken.TryRead(room.AsSpan(0, length), out var token))
            {
                return Refuse(ProxyError.TokenRequired);
            }

            if (token.IsEmpty)
            {
                return Refuse(ProxyError.TokenInvalid);
            }

            var note = Begin(request);
            var key = LoginKey.Of(token);
            if (_tokens.Value.FindUser(key, rules) is { } user)
            {
                Admit(exchange, request, note, policy, user, isUsed: false);
                return null;
            }

            (note.Policy, note.Token) = (policy, new PendingToken(
                Encoding.ASCII.GetString(token), key, KeyOf(exchange)));
            return ProxyError.LoginRequired;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(room, clearArray: true);
        }
    }

    private async ValueTask<ProxyError?> DecideAsync(
        VisitorExchange exchange, ForwardedRequest request, AccessNote note, PendingToken token)
    {
        var policy = note.Policy!;
        (note.Policy, note.Token) = (null, null);
        TokenVerdict verdict;
        try
        {
            verdict = await _tokens.Value.CheckAsync(token, policy.Tokens!, exchange.VisitorLeft).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The visitor left: no answer reaches it.
            verdict = new TokenVerdict(TokenState.Unchecked);
        }

        if (exchange.Home is { } home)
        {
            await new SchedulerYield(home);
        }

        if (verdict is { State: TokenState.Right, User: { } user })
        {
            Admit(exchange, request, note, policy, user, isUsed: false);
            return null;
        }

        return Refuse(verdict.State switch
        {
            TokenState.Expired => ProxyError.TokenExpired,
            TokenState.Unchecked => ProxyError.TokenUnchecked,
            _ => ProxyError.TokenInvalid,
        });
    }

    private async ValueTask<(ProxyError? Error, TimeSpan Wait)> CheckAsync(VisitorExchange exchange, AccessPolicy policy, BasicLogin login)
    {
        var address = AddressOf(exchange, null);
        var check = policy.FindCheck(login);
        var isOwn = check is null;
        if (isOwn)
        {
            if (!_attempts.TryTake(address, policy.Budget, out var wait))
            {
                return (ProxyError.TooManyLogins, wait);
            }

            if (policy.Knows(login))
            {
                // Right elsewhere. That is said only now: before, one without attempts would learn that a guess is right.
                _attempts.Return(address, policy.Budget);
                return (null, TimeSpan.Zero);
            }

            check = policy.CheckAsync(login, _checks);
            if (check is null)
            {
                _attempts.Return(address, policy.Budget);
                return (ProxyError.TooManyLogins, TimeSpan.FromSeconds(1));
            }
        }

        bool? result;
        try
        {
            result = await check!.WaitAsync(exchange.VisitorLeft).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The visitor left: no answer reaches it. The attempt counts, so that leaving early gains nothing.
            return (ProxyError.LoginRequired, TimeSpan.Zero);
        }

        if (result is not { } isRight)
        {
            if (isOwn)
            {
                _attempts.Return(address, policy.Budget);
            }

            return (ProxyError.TooManyLogins, TimeSpan.FromSeconds(1));
        }

        _metrics.LoginChecked(isRight);
        if (isRight && isOwn)
        {
            _attempts.Return(address, policy.Budget);
        }
        else if (!isRight && !isOwn)
        {
            // The same login at once, of several requests: each of them counts.
            _attempts.TryTake(address, policy.Budget, out _);
        }

        return (isRight ? (ProxyError?)null : ProxyError.LoginRequired, TimeSpan.Zero);
    }

    private static AccessNote Begin(ForwardedRequest request)
    {
        var note = request.UseNote<AccessNote>();
        note.Admitted = null;
        note.Policy = null;
        note.Login = null;
        note.Token = null;
        note.Session = null;
        note.Visit = null;
        note.Answer = null;
        note.RetryAfterSeconds = null;
        return note;
    }

    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="note">What is kept of it.</param>
    /// <param name="policy">The rules that let it in.</param>
    /// <param name="user">Who the visitor is.</param>
    /// <param name="isUsed">Whether its <c>Authorization</c> was for ProxyEntry alone.</param>
    private static void Admit(
        VisitorExchange exchange, ForwardedRequest request, AccessNote note, AccessPolicy policy, byte[] user, bool isUsed = true)
    {
        note.Admitted = policy;
        request.UseExtras(exchange).SetUser(user, isUsed);
    }

    private ProxyError Limit(AccessNote note, TimeSpan wait)
    {
        note.RetryAfterSeconds = Math.Max(1, (int)Math.Ceiling(wait.TotalSeconds));
        return Refuse(ProxyError.TooManyLogins);
    }

    private ProxyError Refuse(ProxyError error)
    {
        _metrics.AccessRefused(ProxyErrorCatalog.Get(error).Code);
        return error;
    }

    private IPAddress? AddressOf(VisitorExchange exchange, IPAddress? known) => known ?? VisitorOrigin.Find(exchange, _trusted);
}
