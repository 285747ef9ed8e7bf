using System.Buffers;
using System.Text;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>The part for tunnels whose visitors sign in at an OpenID Connect provider.</summary>
internal sealed partial class AccessGate
{
    private const int LongestShortField = 256;
    private const int LongestMethod = 8;

    private ProxyError? CheckSignIn(VisitorExchange exchange, ForwardedRequest request, AccessPolicy policy, in SignInPlace place)
    {
        if (!exchange.IsSecure)
        {
            // Browsers neither keep nor send the cookie without HTTPS.
            return Refuse(ProxyError.SignInNeedsTls);
        }

        Span<byte> start = stackalloc byte[SignInPaths.Prefix.Length];
        var isOwn = SignInPaths.IsOwn(start[..exchange.CopyTarget(start)]);
        var room = ArrayPool<byte>.Shared.Rent(_mostHead);
        var length = 0;
        try
        {
            length = Math.Max(0, exchange.CopyField("cookie"u8, room));
            var cookies = room.AsSpan(0, length);
            var note = Begin(request);
            if (isOwn)
            {
                (note.Policy, note.Visit) = (policy, VisitOf(exchange, cookies));
                return ProxyError.LoginRequired;
            }

            var value = SignInCookie.Find(cookies);
            if (value.IsEmpty)
            {
                return AskToSignIn(exchange, note);
            }

            var key = LoginKey.Of(value);
            if (_signIn.FindUser(place, key) is { } user)
            {
                AdmitSignedIn(exchange, request, note, policy, user);
                return null;
            }

            (note.Policy, note.Session) = (policy, new PendingSession(
                Encoding.ASCII.GetString(value), key, KeyOf(exchange)));
            return ProxyError.LoginRequired;
        }
        finally
        {
            room.AsSpan(0, length).Clear();
            ArrayPool<byte>.Shared.Return(room);
        }
    }

    private async ValueTask<ProxyError?> DecideAsync(
        VisitorExchange exchange, ForwardedRequest request, AccessNote note, PendingSession session)
    {
        var policy = note.Policy!;
        (note.Policy, note.Session) = (null, null);
        SignInVerdict verdict;
        try
        {
            verdict = await _signIn.OpenAsync(policy.Place!.Value, session, exchange.VisitorLeft).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The visitor left: no answer reaches it.
            verdict = new SignInVerdict(null, IsBusy: true);
        }

        if (exchange.Home is { } home)
        {
            await new SchedulerYield(home);
        }

        if (verdict.User is { } user)
        {
            AdmitSignedIn(exchange, request, note, policy, user);
            return null;
        }

        return verdict.IsBusy ? Refuse(ProxyError.SignInUnavailable) : AskToSignIn(exchange, note);
    }

    private async ValueTask<ProxyError?> DecideAsync(VisitorExchange exchange, AccessNote note, SignInVisit visit)
    {
        var place = note.Policy!.Place!.Value;
        (note.Policy, note.Visit) = (null, null);
        var (answer, error) = await _signIn.ServeAsync(place, visit).ConfigureAwait(false);
        if (exchange.Home is { } home)
        {
            await new SchedulerYield(home);
        }

        note.Answer = answer;
        return answer is null ? Refuse(error) : ProxyError.SignInRequired;
    }

    /// <summary>Sends a person who calls a page to the provider. Any other visitor cannot follow, and learns why it is refused.</summary>
    private ProxyError AskToSignIn(VisitorExchange exchange, AccessNote note)
    {
        note.Answer = IsPageCall(exchange)
            ? new ErrorResponse(
                StatusCodes.Status302Found,
                [
                    new("Location", $"{SignInPaths.Login}?to={Uri.EscapeDataString(SignInPaths.SafeTarget(exchange.Target))}"),
                    new("Cache-Control", "no-store"),
                ],
                default)
            : null;
        return Refuse(ProxyError.SignInRequired);
    }

    private static bool IsPageCall(VisitorExchange exchange)
    {
        Span<byte> method = stackalloc byte[LongestMethod];
        method = method[..exchange.CopyMethod(method)];
        if (exchange.IsUpgrade || !(method.SequenceEqual("GET"u8) || method.SequenceEqual("HEAD"u8)))
        {
            return false;
        }

        Span<byte> value = stackalloc byte[LongestShortField];
        var length = exchange.CopyField("sec-fetch-mode"u8, value);
        if (length >= 0)
        {
            return value[..length].SequenceEqual("navigate"u8);
        }

        // Older browsers do not say what a request is for. A page's own calls ask for JSON or for anything.
        length = exchange.CopyField("accept"u8, value);
        return length > 0 && value[..length].IndexOf("text/html"u8) >= 0;
    }

    private SignInVisit VisitOf(VisitorExchange exchange, ReadOnlySpan<byte> cookies) => new(
        exchange.Method,
        exchange.Authority,
        exchange.Target,
        Encoding.Latin1.GetString(cookies),
        IsOfOtherPage(exchange),
        KeyOf(exchange));

    /// <summary>Whether a page of another host made the browser send it: another tunnel below the same domain is the same site.</summary>
    private static bool IsOfOtherPage(VisitorExchange exchange)
    {
        Span<byte> value = stackalloc byte[LongestShortField];
        var length = exchange.CopyField("sec-fetch-site"u8, value);
        if (length >= 0)
        {
            return !value[..length].SequenceEqual("same-origin"u8) && !value[..length].SequenceEqual("none"u8);
        }

        // Older browsers say with a POST alone which page it is of.
        return exchange.FieldValues("origin", withLookalikes: false) is { Length: > 0 } pages
            && !pages.All(page => page.Equals($"https://{exchange.Authority}", StringComparison.OrdinalIgnoreCase));
    }

    private static void AdmitSignedIn(
        VisitorExchange exchange, ForwardedRequest request, AccessNote note, AccessPolicy policy, byte[] user)
    {
        Admit(exchange, request, note, policy, user, isUsed: false);
    }
}
