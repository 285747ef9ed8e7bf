using System.Collections.Frozen;
using System.Text;
using Microsoft.AspNetCore.Authentication;
using Microsoft.IdentityModel.Tokens;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Access.Keys;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Oidc;

/// <summary>
/// The gates of the settings. ASP.NET Core's OpenID Connect handler signs visitors in; it runs on a context of its own for the paths of a
/// gate, from any front. How many such requests run, and for how long, is bounded. Thread-safe.
/// </summary>
internal sealed class OidcSignIn : ISignIn, IDisposable
{
    private readonly FrozenDictionary<string, OidcGate> _gates;
    private readonly ServiceProvider? _services;
    private readonly OidcSessions? _sessions;
    private readonly SharedSignOuts? _signOuts;
    private readonly TimeProvider _time;
    private readonly OncePerSecond _lines;
    private readonly ILogger _logger;
    private readonly SemaphoreSlim _places = new(Math.Max(1, Environment.ProcessorCount / 2));

    /// <param name="settings">Have the gates.</param>
    /// <param name="time">The clock.</param>
    /// <param name="faults">Counts faults of what runs beside the visits.</param>
    /// <param name="logger">Where to log.</param>
    /// <param name="shared">What the nodes of a cluster share; null: this process is alone.</param>
    /// <exception cref="IOException">The keys of sessions cannot be kept.</exception>
    public OidcSignIn(
        ProxyEntrySettings settings, TimeProvider time, ContainedFaults faults, ILogger<OidcSignIn> logger,
        ISharedDocuments? shared = null)
    {
        _time = time;
        _logger = logger;
        _lines = new OncePerSecond(time);
        _gates = settings.Gates.ToFrozenDictionary(
            static entry => entry.Name, static entry => new OidcGate(entry), StringComparer.Ordinal);
        if (_gates.Count > 0)
        {
            _services = OidcServices.Create(settings, _gates.Values, time);
            _sessions = _services.GetRequiredService<OidcSessions>();

            // Without the secret no session of another node can be opened here.
            _signOuts = shared is null || settings.Cluster.Secret is null
                ? null
                : new SharedSignOuts(_sessions, shared, settings.StateFolder, time, faults, logger);
        }
    }

    /// <inheritdoc/>
    public byte[]? FindUser(in SignInPlace place, in LoginKey session) => _sessions?.Find(place, session);

    /// <inheritdoc/>
    public async Task<SignInVerdict> OpenAsync(SignInPlace place, PendingSession session, CancellationToken cancellationToken)
    {
        if (!_gates.TryGetValue(place.Gate, out var gate) || !gate.Openings.TryBegin(place.Tunnel, session.From))
        {
            return new SignInVerdict(null, IsBusy: true);
        }

        try
        {
            await _places.WaitAsync(cancellationToken).ConfigureAwait(false);
            try
            {
                return new SignInVerdict(
                    await Task.Run(() => _sessions!.Open(gate, place.Tunnel, session), CancellationToken.None).ConfigureAwait(false));
            }
            finally
            {
                _places.Release();
            }
        }
        finally
        {
            gate.Openings.End(place.Tunnel, session.From);
        }
    }

    /// <inheritdoc/>
    public async Task<(ErrorResponse? Answer, ProxyError Error)> ServeAsync(SignInPlace place, SignInVisit visit)
    {
        if (!_gates.TryGetValue(place.Gate, out var gate) || !gate.Visits.TryBegin(place.Tunnel, visit.From))
        {
            return (null, ProxyError.SignInUnavailable);
        }

        try
        {
            return await ServeInPlaceAsync(gate, place.Tunnel, visit).WaitAsync(OidcServices.Patience, _time).ConfigureAwait(false);
        }
        catch (TimeoutException exception)
        {
            // The library fetches a provider's documents for all who need them, so no visit's own deadline ends that.
            Report(gate, exception);
            return (null, ProxyError.SignInUnavailable);
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _signOuts?.Dispose();
        _services?.Dispose();
        _places.Dispose();
    }

    /// <summary>The visit keeps its place until it has really ended. It contains its own faults.</summary>
    private async Task<(ErrorResponse? Answer, ProxyError Error)> ServeInPlaceAsync(OidcGate gate, string tunnel, SignInVisit visit)
    {
        try
        {
            // The handler may compute and wait for files: never on an event loop.
            return await Task.Run(() => ServeAsync(gate, tunnel, visit)).ConfigureAwait(false);
        }
        finally
        {
            gate.Visits.End(tunnel, visit.From);
        }
    }

    private async Task<(ErrorResponse? Answer, ProxyError Error)> ServeAsync(OidcGate gate, string tunnel, SignInVisit visit)
    {
        var question = visit.Target.IndexOf('?', StringComparison.Ordinal);
        var path = question < 0 ? visit.Target : visit.Target[..question];
        var query = question < 0 ? "" : visit.Target[question..];
        var isRead = visit.Method is "GET" or "HEAD";
        if (path == SignInPaths.Logout && (isRead || visit.Method == "POST"))
        {
            // A page of another site must not end a session by an image.
            return (visit.IsCrossSite ? OidcPages.NotLoggedOut : LogOut(gate, tunnel, visit.Cookies), default);
        }

        if (!isRead || path is not (SignInPaths.Login or SignInPaths.Callback))
        {
            return (OidcPages.NotFound, default);
        }

        var scope = _services!.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            using var deadline = new CancellationTokenSource(OidcServices.Limit, _time);
            var context = new DefaultHttpContext { RequestServices = scope.ServiceProvider, RequestAborted = deadline.Token };
            context.Request.Method = "GET";
            context.Request.Scheme = "https";
            context.Request.Host = new HostString(visit.Authority);
            context.Request.Path = path;
            context.Request.QueryString = new QueryString(query);
            context.Request.Headers.Cookie = visit.Cookies;
            context.Items[OidcServices.TunnelKey] = tunnel;
            try
            {
                return path == SignInPaths.Login
                    ? await ChallengeAsync(gate, tunnel, context).ConfigureAwait(false)
                    : await ReturnAsync(gate, tunnel, context).ConfigureAwait(false);
            }
            catch (Exception exception) when (exception is not OutOfMemoryException)
            {
                // The handler throws for a provider that does not answer or lies, and for much that a stranger may put into the query.
                Report(gate, exception);
                return (null, ProxyError.SignInUnavailable);
            }
        }
    }

    private async Task<(ErrorResponse? Answer, ProxyError Error)> ChallengeAsync(
        OidcGate gate, string tunnel, HttpContext context)
    {
        string? wanted = context.Request.Query["to"];
        var properties = new AuthenticationProperties { RedirectUri = SignInPaths.SafeTarget(wanted) };
        properties.Items[OidcServices.TunnelKey] = tunnel;
        await context.ChallengeAsync(gate.Entry.Name, properties).ConfigureAwait(false);

        // The handler takes any text of the provider's document as the address of its page.
        if (OidcBackchannel.MayLeadTo(gate.Entry.Authority!, context.Response.Headers.Location.ToString()))
        {
            return (AnswerOf(context.Response), default);
        }

        Report(gate, new InvalidDataException());
        return (null, ProxyError.SignInUnavailable);
    }

    /// <summary>The provider sent the visitor back.</summary>
    private async Task<(ErrorResponse? Answer, ProxyError Error)> ReturnAsync(OidcGate gate, string tunnel, HttpContext context)
    {
        var handlers = context.RequestServices.GetRequiredService<IAuthenticationHandlerProvider>();
        var handler = (IAuthenticationRequestHandler)(await handlers.GetHandlerAsync(context, gate.Entry.Name).ConfigureAwait(false))!;
        await handler.HandleRequestAsync().ConfigureAwait(false);
        if (context.Items[OidcServices.TicketKey] is not OidcTicket ticket)
        {
            if (context.Items[OidcServices.FailureKey] is Exception failure)
            {
                Report(gate, failure);
            }

            return (null, ProxyError.SignInFailed);
        }

        var groups = gate.Known(ticket.Groups);
        if (ticket.Email is null || OidcGate.UserOf(ticket.Email) is null || !gate.Allows(ticket.Email, groups))
        {
            return (null, ProxyError.UserNotAllowed);
        }

        var session = OidcSession.Begin(ticket.Email, groups, _time.GetUtcNow() + gate.Entry.Lifetime);
        var value = _sessions!.Seal(gate, tunnel, session);
        if (value.Length > SignInCookie.LongestValue)
        {
            return (null, ProxyError.SignInFailed);
        }

        context.Response.Headers.Append(
            "Set-Cookie",
            FormattableString.Invariant(
                $"{SignInCookie.Name}={value}; Max-Age={(long)gate.Entry.Lifetime.TotalSeconds}; Path=/; Secure; HttpOnly; SameSite=Lax"));
        context.Response.Redirect(SignInPaths.SafeTarget(ticket.Target));
        return (AnswerOf(context.Response), default);
    }

    private ErrorResponse LogOut(OidcGate gate, string tunnel, string cookies)
    {
        var value = SignInCookie.Find(Encoding.Latin1.GetBytes(cookies));
        if (!value.IsEmpty && _sessions!.End(gate, tunnel, Encoding.ASCII.GetString(value)) is { } session)
        {
            _ = _signOuts?.ShareAsync(session);
        }

        return OidcPages.LoggedOut;
    }

    private void Report(OidcGate gate, Exception failure)
    {
        if (_lines.MayLog())
        {
            SignInLog.SignInFailed(_logger, gate.Entry.Name, WordsOf(failure.GetBaseException()));
        }
    }

    /// <summary>The messages of the libraries may hold what a stranger sent: only the kind of failure is shown.</summary>
    private string WordsOf(Exception failure) => failure is SecurityTokenExpiredException or SecurityTokenNotYetValidException
        ? FormattableString.Invariant(
            $"{failure.GetType().Name} (the clock of this machine says {_time.GetUtcNow():yyyy-MM-ddTHH:mm:ssZ}: is it right?)")
        : failure.GetType().Name;

    private static ErrorResponse AnswerOf(HttpResponse response)
    {
        var headers = new List<KeyValuePair<string, string>> { new("Cache-Control", "no-store") };
        headers.AddRange(response.Headers["Location"].Select(static value => KeyValuePair.Create("Location", value ?? "")));
        headers.AddRange(response.Headers["Set-Cookie"].Select(static value => KeyValuePair.Create("Set-Cookie", value ?? "")));
        return new ErrorResponse(response.StatusCode, headers, default);
    }
}
