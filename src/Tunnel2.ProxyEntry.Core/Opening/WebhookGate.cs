using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Access.Webhooks;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>
/// Lets only signed requests pass to a session that wants signatures. The body is read and held until its signature is right, before a
/// stream is opened. Thread-safe.
/// </summary>
internal sealed class WebhookGate
{
    /// <summary>How long a visitor may take for its body. Providers send at once, and hang up after some seconds.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(30);

    private readonly WebhookMemories _memories = new();
    private readonly long _bodyLimit;
    private readonly TrustedProxySet _trusted;
    private readonly HeldMemory _memory;
    private readonly TimeProvider _timeProvider;
    private readonly ProxyEntryMetrics _metrics;

    public WebhookGate(ProxyEntrySettings settings, HeldMemory memory, TimeProvider timeProvider, ProxyEntryMetrics metrics)
    {
        _bodyLimit = settings.WebhookBodyBytes;
        _trusted = settings.TrustedProxies;
        _memory = memory;
        _timeProvider = timeProvider;
        _metrics = metrics;
    }

    /// <summary>Judges a request as far as that takes no body.</summary>
    /// <returns>
    /// Why it may not pass, or null. <see cref="ProxyError.WebhookSignature"/> is not final when <see cref="IsUndecided"/> says so.
    /// </returns>
    public ProxyError? Check(VisitorExchange exchange, ForwardedRequest request, WebhookPolicy policy)
    {
        if (request.NoteOf<WebhookNote>() is not { } note)
        {
            note = request.UseNote<WebhookNote>();
            (note.Passed, note.Policy, note.Checks) = (null, null, null);
        }

        if (note.Passed is { } passed)
        {
            if (policy.IsSameAs(passed))
            {
                return null;
            }

            // The rules changed while the request waited, and its body is read: it cannot be judged by the new ones.
            return Refuse(ProxyError.WebhookSignature);
        }

        var now = _timeProvider.GetUtcNow();
        var head = new WebhookHead(name => exchange.FieldValues(name, withLookalikes: false), () => UrlsOf(exchange));
        if (exchange.IsUpgrade || policy.TryBegin(head, now) is not { } checks)
        {
            return Refuse(ProxyError.WebhookSignature);
        }

        if (exchange.HasBody && Array.Exists(checks, static check => check.NeedsBody))
        {
            if (exchange.DeclaredLength > Math.Min(_bodyLimit, request.BodyLimit))
            {
                Dispose(checks);
                return Refuse(ProxyError.WebhookBodyTooLarge);
            }

            (note.Policy, note.Checks) = (policy, checks);
            return ProxyError.WebhookSignature;
        }

        var passes = policy.Passes(checks, _memories, now);
        Dispose(checks);
        note.Passed = passes ? policy : null;
        return passes ? null : Refuse(ProxyError.WebhookSignature);
    }

    /// <summary>Whether the body has to be read to judge a request that <see cref="Check"/> could not.</summary>
    public static bool IsUndecided(ForwardedRequest request) => request.NoteOf<WebhookNote>() is { Checks: not null };

    /// <summary>Reads the body and judges the request. Afterwards the caller is on the visitor's event loop again.</summary>
    /// <returns>Why the request may not pass, or null: then its body is held.</returns>
    public async ValueTask<ProxyError?> DecideAsync(VisitorExchange exchange, ForwardedRequest request)
    {
        var note = request.NoteOf<WebhookNote>()!;
        var (policy, checks) = (note.Policy!, note.Checks!);
        (note.Policy, note.Checks) = (null, null);
        using var reading = new CancellationTokenSource(_patience, _timeProvider);
        var held = new HeldBody(_memory, AddressKey.OfAny(VisitorOrigin.Find(exchange, _trusted)), reading);
        ProxyError? error = ProxyError.BadRequest;
        try
        {
            error = await ReadAsync(exchange, request, held, checks, reading.Token).ConfigureAwait(false);
            if (error is null && !policy.Passes(checks, _memories, _timeProvider.GetUtcNow()))
            {
                error = ProxyError.WebhookSignature;
            }

            if (error is null && !held.TryAccept())
            {
                error = ProxyError.WebhookBusy;
            }

            if (error is null)
            {
                (request.Held, note.Passed) = (held, policy);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or InvalidOperationException)
        {
            // The visitor left, or its connection failed. No answer reaches it.
            exchange.Abort();
        }
        finally
        {
            Dispose(checks);
            if (error is not null)
            {
                held.Release();
            }
        }

        if (exchange.Home is { } home)
        {
            await new SchedulerYield(home);
        }

        return error is { } refused ? Refuse(refused) : null;
    }

    private async ValueTask<ProxyError?> ReadAsync(
        VisitorExchange exchange, ForwardedRequest request, HeldBody held, WebhookCheck[] checks, CancellationToken end)
    {
        if (exchange.ExpectsContinue && !request.HasContinued)
        {
            request.HasContinued = true;
            await exchange.SendContinueAsync().ConfigureAwait(false);
        }

        var limit = Math.Min(_bodyLimit, request.BodyLimit);
        var body = exchange.RequestBody;
        using var stop = end.UnsafeRegister(static state => ((VisitorExchange)state!).StopReadingBody(), exchange);
        while (true)
        {
            System.IO.Pipelines.ReadResult read;
            try
            {
                read = await body.ReadAsync(CancellationToken.None).ConfigureAwait(false);
            }
            catch (BadHttpRequestException broken) when (exchange.CanAnswerBrokenBody && !exchange.VisitorLeft.IsCancellationRequested)
            {
                return broken.StatusCode == StatusCodes.Status413PayloadTooLarge ? ProxyError.RequestBodyTooLarge : ProxyError.BadRequest;
            }

            var buffer = read.Buffer;
            if (end.IsCancellationRequested)
            {
                body.AdvanceTo(buffer.Start);
                return held.IsCut ? ProxyError.WebhookBusy : ProxyError.RequestTimeout;
            }

            if (held.Length + buffer.Length > limit)
            {
                body.AdvanceTo(buffer.Start);
                return ProxyError.WebhookBodyTooLarge;
            }

            foreach (var piece in buffer)
            {
                if (!held.TryAdd(piece.Span))
                {
                    body.AdvanceTo(buffer.Start);
                    return ProxyError.WebhookBusy;
                }

                foreach (var check in checks)
                {
                    check.Append(piece.Span);
                }
            }

            body.AdvanceTo(buffer.End);
            if (read.IsCompleted)
            {
                return null;
            }
        }
    }

    /// <summary>The URLs that a provider may have signed: with the port as it was called, and without.</summary>
    private static IEnumerable<string> UrlsOf(VisitorExchange exchange)
    {
        var scheme = exchange.IsSecure ? "https" : "http";
        var authority = exchange.Authority;
        yield return $"{scheme}://{authority}{exchange.Target}";
        var colon = authority.LastIndexOf(':');
        var hasPort = colon >= 0 && !authority.EndsWith(']');
        var port = exchange.IsSecure ? 443 : 80;
        yield return hasPort
            ? $"{scheme}://{authority[..colon]}{exchange.Target}"
            : FormattableString.Invariant($"{scheme}://{authority}:{port}{exchange.Target}");
    }

    private static void Dispose(WebhookCheck[] checks)
    {
        foreach (var check in checks)
        {
            check.Dispose();
        }
    }

    private ProxyError Refuse(ProxyError error)
    {
        _metrics.AccessRefused(ProxyErrorCatalog.Get(error).Code);
        return error;
    }
}
