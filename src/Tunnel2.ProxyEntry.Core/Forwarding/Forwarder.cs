using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Inspection.Capture;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>
/// Takes a visitor's request through the tunnel, from any front: finds the session, opens a stream, moves both bodies, and answers when
/// something fails. Thread-safe.
/// </summary>
internal sealed class Forwarder : IForwarder
{
    private const int RequestBlockGuess = 2 * 1024;
    private const int RetryAfterSeconds = 5;

    /// <summary>How many characters of an invalid host a log line shows.</summary>
    private const int LongestHost = 255;

    /// <summary>On how many streams a request is tried in all, and after each look in a wait, if each did nothing with it.</summary>
    private const int MaxTries = 4;

    private readonly PatientOpener _opener;
    private readonly ResponsePump _responses;
    private readonly ForwardWatchdog _watchdog;
    private readonly RequestObservers _observers;
    private readonly EdgeAnswers? _edge;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public Forwarder(
        PatientOpener opener,
        ResponsePump responses,
        ForwardWatchdog watchdog,
        RequestObservers observers,
        TimeProvider timeProvider,
        ILogger<Forwarder> logger,
        EdgeAnswers? edge = null)
    {
        _opener = opener;
        _responses = responses;
        _watchdog = watchdog;
        _observers = observers;
        _timeProvider = timeProvider;
        _logger = logger;
        _edge = edge;
    }

    /// <inheritdoc/>
    /// <remarks>
    /// Sends the request on a stream, and on another one if nothing was done with it on the first: it was refused, or lost before a byte of
    /// it was sent (docs/protocol.md section 8). The visitor does not notice. The wait for the answer's head, which nearly every request
    /// has, is in this method: each method in between would also be suspended and resumed.
    /// </remarks>
    [AsyncMethodBuilder(typeof(ReusedValueTaskMethodBuilder))]
    public async ValueTask ForwardAsync(VisitorExchange exchange, ForwardedRequest request)
    {
        request.Begin(_timeProvider);
        exchange.ForgetLast();
        request.Exchange = exchange;
        request.Owner = exchange.AwaitedOwner;
        RequestOutcome? outcome = null;
        try
        {
            _observers.Began(exchange, request);
            if (exchange.Fault is { } fault)
            {
                outcome = await FailAsync(exchange, request, fault, null).ConfigureAwait(false);
            }
            else if (_edge is { IsOn: true } edge
                && ((edge.MayBeElsewhere(exchange) ? await edge.FindElsewhereAsync(exchange).ConfigureAwait(false) : null)
                    ?? edge.Find(exchange)) is { } answer)
            {
                outcome = await AnswerAsync(exchange, request, answer).ConfigureAwait(false);
            }

            UplinkStreams? left = null;
            StreamFailure failure = default;
            for (request.NodesLeft.Tries = 1; outcome is null; request.NodesLeft.Tries++)
            {
                // Step 2: the name in the Host, its session, a stream; or the request waits for its agent.
                var opened = _opener.TryOpen(exchange, request, except: left);
                if (opened.MayBeElsewhere
                    || opened.Error is ProxyError.AgentOffline or ProxyError.LoginRequired or ProxyError.WebhookSignature)
                {
                    opened = await request.WaitFor(exchange, _opener.WaitAsync(exchange, request, opened, left)).ConfigureAwait(false);
                }

                request.Session = opened.Session;
                if (opened.Answer is { } said)
                {
                    outcome = await AnswerAsync(exchange, request, said).ConfigureAwait(false);
                    break;
                }

                if (opened.Error is { } refused)
                {
                    if (refused == ProxyError.SignInRequired && request.NoteOf<AccessNote>()?.Answer is { } instead)
                    {
                        _edge?.Https.AddTo(exchange, request);
                        outcome = await AnswerAsync(exchange, request, instead).ConfigureAwait(false);
                        break;
                    }

                    var isOfStream = !failure.IsNone && refused != ProxyError.Draining;
                    var error = isOfStream ? failure.ToProxyError(request.IsCarried) : refused;
                    exchange.ResetCode = isOfStream ? failure.ResetCode() : null;
                    outcome = await FailAsync(exchange, request, error, opened.Session?.Name).ConfigureAwait(false);
                    break;
                }

                var stream = opened.Stream!;
                if (MoveToUplink(exchange, request, stream) is { } home)
                {
                    await new SchedulerYield(home);
                }

                Begin(exchange, request, stream, opened.Session);
                try
                {
                    using var leaving = exchange.VisitorLeft.UnsafeRegister(
                        static state => ((ForwardedRequest)state!).CutByVisitor(), request);
                    // Step 3: the head goes into the stream, without the fields that belong to one hop.
                    if (SendHead(exchange, request, stream) is { } cannot)
                    {
                        stream.Reset(StreamResetReason.Cancel);
                        outcome = await FailAsync(exchange, request, cannot, opened.Session?.Name).ConfigureAwait(false);
                        break;
                    }

                    if (request.Phase == ForwardPhase.Head)
                    {
                        // Step 8: the reader of the uplink has data for the stream.
                        await stream.WaitToReadAsync().ConfigureAwait(false);
                    }

                    outcome = await ExchangeAsync(
                        exchange, request, stream, opened.Session, request.NodesLeft.Tries < MaxTries).ConfigureAwait(false);
                    if (outcome is null)
                    {
                        failure = stream.Failure;

                        // What the service itself has refused it may take on another connection. Without a body the agent has tried that.
                        left = exchange.HasBody && failure.ResetCode() is not null ? null : stream.Uplink;
                        if (opened.Session is { } before)
                        {
                            if (before.Member is { } member)
                            {
                                request.Tried.Add(member);
                            }

                            _observers.Moved(exchange, request, failure);
                            request.Owner = before.Owner;
                        }
                        else if (_opener.HasLeft(exchange, request, failure))
                        {
                            // Where the session is now counts, and the same link may lead there.
                            left = null;
                            failure = default;
                        }

                        request.BeginAgain();
                    }
                }
                finally
                {
                    _watchdog.Remove(request);
                    request.Detach();
                    // Step 10: the stream is released exactly once, last.
                    stream.Release();
                    if (opened.Session is not null)
                    {
                        _observers.StreamEnded(exchange, request);
                    }
                }
            }
        }
        catch (Exception exception)
        {
            ProxyEntryLog.ForwarderFault(_logger, exchange.RequestId, exception);
            outcome = await FailAsync(exchange, request, ProxyError.Internal, request.Session?.Name, isFault: true).ConfigureAwait(false);
        }

        End(exchange, request, outcome!.Value);
    }

    /// <summary>Moves the visitor's connection to the loop of its uplink, so that one thread does all of the request.</summary>
    /// <returns>Where to continue; null when no move is needed or possible.</returns>
    private static PipeScheduler? MoveToUplink(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream)
    {
        request.LoopPath = LoopPath.Same;
        var home = stream.Uplink.Settings.WriterScheduler;
        if (exchange.Home is not { } present || present == home)
        {
            return null;
        }

        // A body that is held was read, and only a connection of which no more than the head was read can move.
        if (request.Held is not null || !exchange.TryMoveTo(home))
        {
            request.LoopPath = LoopPath.Crossed;
            return null;
        }

        request.LoopPath = LoopPath.Moved;
        return home;
    }

    /// <summary>The request has a stream.</summary>
    private void Begin(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream, EntrySession? session)
    {
        request.Attach(stream, session, _opener.NodeLeaving);
        stream.NotifyReset(static (state, id) => ((ForwardedRequest)state!).OnStreamReset(id), request);
        if (session is not null)
        {
            _observers.StreamOpened(exchange, request);
        }

        _watchdog.Add(request);
    }

    /// <summary>The request is over: the observers learn it.</summary>
    private void End(VisitorExchange exchange, ForwardedRequest request, RequestOutcome outcome)
    {
        request.Kept.Drop();
        request.Held?.Release();
        request.Held = null;
        request.Times.MarkEnded();
        if (request.Capture is { } capture)
        {
            EndCapture(request, capture, outcome);
        }

        if (request.IsCarried)
        {
            _observers.Carried(exchange, request, outcome);
        }
        else
        {
            _observers.Ended(exchange, request, outcome);
        }

        // An idle connection of a visitor must not keep an ended session in memory.
        request.Session = null;
        request.Tried = default;
    }

    /// <summary>Moves both bodies once the request's head is sent.</summary>
    /// <returns>Null when nothing was done with the request, so it may be tried on another stream.</returns>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<RequestOutcome?> ExchangeAsync(
        VisitorExchange exchange, ForwardedRequest request, TunnelStream stream, EntrySession? session, bool mayTryAgain)
    {
        ValueTask? requestPump = null;
        if (exchange.HasBody && !exchange.IsUpgrade)
        {
            request.Continue = exchange.ExpectsContinue && !request.HasContinued ? new ContinueTurn() : null;
            requestPump = RequestBodyPump.RunAsync(exchange, request, stream, _timeProvider).Preserve();
        }

        ResponseEnd end;
        try
        {
            end = await _responses.RunAsync(exchange, request, stream).ConfigureAwait(false);
        }
        catch when (requestPump is { IsCompleted: false })
        {
            // A fault of ours: the stream is still released, after the pump has left it.
            request.IsBodyUnwanted = true;
            exchange.StopReadingBody();
            stream.Reset(StreamResetReason.Internal);
            request.Continue?.Release();
            await requestPump.Value.ConfigureAwait(false);
            throw;
        }

        if (requestPump is { } pump)
        {
            request.IsBodyUnwanted = true;
            request.Continue?.Release();
            if (!pump.IsCompleted)
            {
                // The answer is complete, or there will be none, so the rest of the body is not wanted.
                exchange.StopReadingBody();
                stream.Reset(StreamResetReason.None);
            }

            await pump.ConfigureAwait(false);
        }

        // A service of datagrams takes or refuses the first one, which follows the switch to raw bytes.
        var isRefused = (end is ResponseEnd.StreamFailed or ResponseEnd.Upgraded) && SpareIfRefused(stream, session);
        var mayBeElsewhere = end == ResponseEnd.StreamFailed && isRefused && MayTryAnotherMember(exchange, request, session!.Member!);
        if (mayTryAgain
            && end == ResponseEnd.StreamFailed
            && request.Status == 0
            && !request.IsBodyTaken
            && request.CutBy is null
            && (stream.IsUntouched || mayBeElsewhere))
        {
            return null;
        }

        if (end == ResponseEnd.StreamFailed)
        {
            exchange.ResetCode = stream.Failure.ResetCode();
        }

        return end switch
        {
            ResponseEnd.Complete => RequestOutcome.Completed,
            ResponseEnd.Upgraded => RequestOutcome.Upgraded,
            ResponseEnd.VisitorLeft => VisitorLeft(exchange, session),
            _ when request.CutBy is null
                && stream.Failure is
                {
                    Kind: StreamFailureKind.LocalReset,
                    Reason: StreamResetReason.Cancel,
                    Detail: not StreamResetDetail.Stalled,
                } =>
                VisitorLeft(exchange, session),
            _ =>
                await FailAsync(
                    exchange,
                    request,
                    end == ResponseEnd.Malformed
                        ? ProxyError.BackendProtocol
                        : request.CutBy ?? stream.Failure.ToProxyError(request.IsCarried),
                    session?.Name).ConfigureAwait(false),
        };
    }

    /// <summary>Whether the service of a pool's member took no connection. Then the member is spared for a while.</summary>
    private static bool SpareIfRefused(TunnelStream stream, EntrySession? session)
    {
        if (session?.Member is not { } member
            || stream.Failure is not { Kind: StreamFailureKind.PeerReset, Reason: StreamResetReason.BackendConnect })
        {
            return false;
        }

        member.Spare();
        return true;
    }

    /// <summary>Whether there is a member that may get a request with which a member has done nothing.</summary>
    private bool MayTryAnotherMember(VisitorExchange exchange, ForwardedRequest request, PoolMember member)
    {
        var tried = request.Tried;
        tried.Add(member);
        return tried.Count < PoolTries.Most && (member.Pool!.HasOther(tried) || _opener.MayTryElsewhere(exchange, request));
    }

    private ProxyError? SendHead(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream)
    {
        Span<char> name = stackalloc char[DomainName.MaxLength];
        name = request.IsCarried ? name[.._opener.CopyName(exchange, request, name)] : default;
        var end = !exchange.HasBody && !exchange.IsUpgrade;
        exchange.GoesToNode = request.IsCarried;
        for (var size = RequestBlockGuess; ; size = Math.Min(size * 8, ProtocolLimits.MaxHeaderBlockLength))
        {
            var head = stream.BeginHead(size);
            var start = request.IsCarried ? NodeHead.Write(exchange, request, name, head) : 0;
            var writer = new HeaderBlockWriter(head[start..]);
            exchange.WriteRequestBlock(ref writer);
            var length = start + writer.Complete();
            var isTooSmall = writer.Overflowed || (request.IsCarried && start == 0);
            if (exchange.IsInLoop || writer.HasTooManyFields || (isTooSmall && size == ProtocolLimits.MaxHeaderBlockLength))
            {
                return exchange.IsInLoop ? ProxyError.LoopDetected : ProxyError.RequestHeadTooLarge;
            }

            if (!isTooSmall)
            {
                if (request.Session?.Inspected is { } store)
                {
                    BeginCapture(request, store, head[..length], end);
                }

                // Marked first: EndHead may send it at once, and that is time of the tunnel. An ended stream reports this to its reader.
                request.Times.MarkHeadSent();
                stream.EndHead(length, default, end, out _);
                request.Phase = exchange.HasBody && !exchange.IsUpgrade ? ForwardPhase.Upload : ForwardPhase.Head;
                return null;
            }
        }
    }

    private static void BeginCapture(ForwardedRequest request, ExchangeStore store, ReadOnlySpan<byte> block, bool isWhole)
    {
        request.Capture ??= store.Begin(block);
        request.Capture?.OnConnected();
        request.Capture?.OnSent();
        if (isWhole)
        {
            request.Capture?.OnRequestEnded();
        }
    }

    private static void EndCapture(ForwardedRequest request, ExchangeCapture capture, RequestOutcome outcome)
    {
        var (leg, error) = outcome == RequestOutcome.VisitorAborted ? ("visitor", "left before the end")
            : request.Error is { } failed ? (ProxyErrorCatalog.Get(failed).LegName, ProxyErrorCatalog.Get(failed).Code)
            : ((string?)null, (string?)null);
        capture.OnEnded(leg, error);
        request.Capture = null;
    }

    private RequestOutcome VisitorLeft(VisitorExchange exchange, EntrySession? session)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            ProxyEntryLog.VisitorAborted(_logger, exchange.RequestId, session?.Name ?? _opener.NameOf(exchange));
        }

        return RequestOutcome.VisitorAborted;
    }

    /// <summary>Answers in place of a service: the request has no tunnel.</summary>
    private async ValueTask<RequestOutcome> AnswerAsync(VisitorExchange exchange, ForwardedRequest request, ErrorResponse answer)
    {
        request.Status = answer.Status;
        _edge?.Https.AddTo(exchange, request);
        await _watchdog.WaitForVisitorAsync(exchange, request, exchange.WriteAnswerAsync(answer)).ConfigureAwait(false);
        return exchange.VisitorLeft.IsCancellationRequested ? RequestOutcome.VisitorAborted : RequestOutcome.Completed;
    }

    private async ValueTask<RequestOutcome> FailAsync(
        VisitorExchange exchange, ForwardedRequest request, ProxyError error, string? name, bool isFault = false)
    {
        var info = ProxyErrorCatalog.Get(error);
        if (exchange.VisitorLeft.IsCancellationRequested)
        {
            return RequestOutcome.VisitorAborted;
        }

        var leg = request.Fail(info);

        // For a refused request the name may be the host as the visitor wrote it, which can be any text.
        name = PlainText.Clean(TargetText.WithoutUserInfo(name ?? _opener.NameOf(exchange)), LongestHost);

        // Body bytes that were written cannot be taken back, sent or not. So no other answer may follow them.
        if (exchange.HasResponseStarted || request.BytesSent > 0)
        {
            ProxyEntryLog.ResponseAborted(_logger, exchange.RequestId, name, leg, request.BytesSent, info.Code);
            _observers.Failed(exchange, request, isAnswered: false);
            if (isFault)
            {
                exchange.Abort();
                return RequestOutcome.Aborted;
            }

            exchange.CutReason = error;

            // Bytes that have arrived are sent first. A visitor that does not read them is cut after the limit of bodies.
            await _watchdog.WaitForVisitorAsync(
                exchange, request, exchange.CutAsync(isShort: request.ResponseLeft > 0).AsTask()).ConfigureAwait(false);
            return RequestOutcome.Aborted;
        }

        if (!info.IsVisitorsFault)
        {
            ProxyEntryLog.RequestFailed(_logger, exchange.RequestId, name, leg, info.Code, null);
        }
        else if (_logger.IsEnabled(LogLevel.Debug))
        {
            ProxyEntryLog.RequestRefused(_logger, exchange.RequestId, name, info.Code);
        }

        request.Status = info.Status;
        _observers.Failed(exchange, request, isAnswered: true);
        _edge?.Https.AddTo(exchange, request);
        await _watchdog.WaitForVisitorAsync(
            exchange,
            request,
            exchange.WriteErrorAsync(
                error, new ErrorDetails { RetryAfterSeconds = RetryAfter(request, info), Node = request.FailedAt })).ConfigureAwait(false);
        return RequestOutcome.Error;
    }

    private static int? RetryAfter(ForwardedRequest request, ProxyErrorInfo info) => info switch
    {
        { Status: StatusCodes.Status503ServiceUnavailable } => info.RetryAfterSeconds ?? RetryAfterSeconds,
        { Error: ProxyError.TooManyLogins } => request.NoteOf<AccessNote>()?.RetryAfterSeconds,
        { Error: ProxyError.PolicyRateLimit } => request.NoteOf<PolicyNote>()?.RetryAfterSeconds,
        _ => null,
    };
}
