using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Policies.Paths;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// One request of a visitor, from its stream to the backend and back. The object is used again for a later exchange.
/// </summary>
/// <remarks>
/// Who owns what: the exchange owns the stream until <see cref="TunnelStream.Release"/> and the connection until it is returned or
/// disposed of; the request pump borrows both while it runs, and the exchange never lets go of either before the pump has ended.
/// </remarks>
internal sealed partial class BackendExchange
{
    /// <summary>Room for a request's head, at first and at most.</summary>
    private const int HeadBuffer = 16 * 1024;

    private const int MaxHeadBuffer = 256 * 1024;

    private readonly UplinkExchanges _exchanges;
    private readonly ExchangeContext _context;
    private readonly ExchangeConnection _connection = new(byReset: false);
    private readonly ExchangeCounters _counters = new();
    private readonly ResponsePump _responses;
    private readonly Action _finish;
    private readonly RequestPath? _path;
    private BackendService _service;
    private ValueTaskAwaiter _running;
    private ValueTask<RequestPumpEnd>? _requestPump;

    /// <summary>The response after which bytes came that may belong to it, until an answer on a new connection shows it.</summary>
    private ResponseKind? _suspect;

    public BackendExchange(UplinkExchanges exchanges)
    {
        _exchanges = exchanges;
        _context = exchanges.Context;
        _service = _context.Service;
        _path = _context.Routes is null ? null : new RequestPath();
        _responses = new ResponsePump(
            _context.Buffers, _counters, _context.ReadAhead, () => _requestPump is not { } pump || pump.IsCompleted, JudgeSuspect);
        _finish = Finish;
    }

    /// <summary>Serves a stream; returns at its first wait.</summary>
    [SuppressMessage("Reliability", "CA2012", Justification = "Awaited by hand, and once: see the comment.")]
    public void Start(TunnelStream stream)
    {
        _counters.Reset();
        _connection.Begin(stream.Id, stream);

        // Awaited by hand: a pooled task has to be asked for its result before it and this object may be used again.
        _running = RunAsync(stream).GetAwaiter();
        if (_running.IsCompleted)
        {
            Finish();
        }
        else
        {
            _running.UnsafeOnCompleted(_finish);
        }
    }

    private void Finish()
    {
        _running.GetResult();
        _exchanges.Return(this);
    }

    /// <remarks>
    /// What usually waits, the backend's answer, waits here: each method in between would be another one to suspend and to resume.
    /// </remarks>
    [AsyncMethodBuilder(typeof(ReusedValueTaskMethodBuilder))]
    private async ValueTask RunAsync(TunnelStream stream)
    {
        var report = ExchangeReport.Begin(_context, stream);
        var failure = BackendFailure.None;
        try
        {
            var retry = TryBegin(stream, out var head, out var plan, ref failure) && plan.IsReplayable;
            if (plan.IsValid && _context.IsOneTooMany())
            {
                (plan, failure) = (default, new BackendFailure(StreamResetReason.Refused, StreamResetDetail.TooManyStreams));
            }

            var triesHttp2 = true;
            BackendFailure misunderstood = default;
            while (plan.IsValid)
            {
                if (triesHttp2 && _service.Versions.WantsHttp2(plan.IsGrpc, plan.Framing == RequestFraming.Raw && !plan.IsWebSocket))
                {
                    triesHttp2 = false;
                    if (await RunHttp2Async(stream, head, plan).ConfigureAwait(false) is { } ended)
                    {
                        failure = ended;
                        if (ended.Detail == StreamResetDetail.ClosedBeforeResponse)
                        {
                            _service.Versions.FoundSilent();
                            failure = misunderstood.IsNone ? ended : misunderstood;
                        }

                        break;
                    }
                }

                // Step 6: a connection to the backend, kept or new; then the request on it.
                (var connection, failure) = await ConnectAsync(fresh: !retry && plan.IsReplayable).ConfigureAwait(false);
                if (connection is null)
                {
                    if (failure.Detail == StreamResetDetail.ConnectionRefused)
                    {
                        _service.Versions.Forget();
                    }

                    break;
                }

                _counters.Capture?.OnConnected();

                // Here it shows, before a byte of an answer, that the backend has closed a kept connection or has sent something else on
                // it.
                var mayRetry = retry && connection.IsReused;
                var end = await SendAsync(stream, head, plan, connection).ConfigureAwait(false);
                if (end is null)
                {
                    if (_requestPump is null && connection.WaitsFreely)
                    {
                        // A thousand exchanges that wait for the backend need no buffer, and the few that continue use the same ones, warm
                        // in the cache.
                        connection.ReturnBuffer();
                        try
                        {
                            await connection.WaitAsync().ConfigureAwait(false);
                        }
                        catch (IOException)
                        {
                            // The reader of the response finds it again.
                        }
                    }

                    end = await ReceiveAsync(stream, plan, connection).ConfigureAwait(false);
                }

                failure = end.Value.Failure;
                if (failure.Detail == StreamResetDetail.SpeaksHttp2)
                {
                    misunderstood = failure;
                    _service.Versions.FoundOnlyHttp2();
                    if (triesHttp2 && plan.IsReplayable && !_connection.IsAborted
                        && _service.Versions.WantsHttp2(plan.IsGrpc, isOtherUpgrade: false))
                    {
                        _connection.Take()?.Dispose();
                        continue;
                    }
                }

                if (end.Value.Outcome != AttemptOutcome.NothingCame || !mayRetry || _connection.IsAborted)
                {
                    break;
                }

                retry = false;
                _connection.Take()?.Dispose();
            }
        }
        catch (Exception)
        {
            // A fault of ours ends this exchange and nothing else.
            failure = new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None);
        }

        if (_connection.End(out var left))
        {
            // What failed, failed because the exchange was aborted.
            failure = BackendFailure.None;
        }

        left?.Dispose();
        JudgeSuspect(answer: null);
        if (!failure.IsNone)
        {
            stream.ResetAfterHead(failure.Reason, failure.Detail);
        }

        report.End(_context, stream, _counters, failure);

        // Step 10: the connection is in the pool or closed; the stream is given back last.
        stream.Release();
    }

    /// <summary>Reads the request's head, and watches the stream from then on.</summary>
    private bool TryBegin(TunnelStream stream, out StreamItem head, out RequestPlan plan, ref BackendFailure failure)
    {
        plan = default;
        _requestPump = null;
        if (!stream.TryRead(out head) || head.Kind != StreamItemKind.Head)
        {
            return false;
        }

        _counters.Capture = _context.Inspected?.Begin(head.Memory.Span);
        plan = ReadPlan(head);
        if (!plan.IsValid)
        {
            failure = new BackendFailure(StreamResetReason.VisitorProtocol, StreamResetDetail.None);
            return false;
        }

        if (_context.Routes is { } routes && !TryRoute(routes, head, ref failure))
        {
            plan = default;
            return false;
        }

        if (plan.Framing == RequestFraming.None)
        {
            _counters.Capture?.OnRequestEnded();
        }

        _responses.Begin(plan.WantsTiming ? new ExchangeTiming(_context.TimeProvider) : default);
        stream.NotifyReset(static (connection, id) => ((ExchangeConnection)connection!).Abort(id), _connection);
        return true;
    }

    /// <summary>Finds the service of the request's path.</summary>
    private bool TryRoute(RouteMap routes, StreamItem head, ref BackendFailure failure)
    {
        _service = _context.Service;
        if (HeaderBlock.TryRead(head.Memory.Span, out var block) != ProtocolError.None)
        {
            return false;
        }

        var route = routes.Find(block.Target, _path!);
        if (route == RouteMap.Unclear)
        {
            _counters.Refusal = "its path can be read in several ways, which lead to different services";
            failure = new BackendFailure(StreamResetReason.VisitorProtocol, StreamResetDetail.None);
            return false;
        }

        _service = route == RouteMap.None ? _context.Service : _context.Routed[route];
        _counters.Service = _service.Name;
        if (_counters.Capture is { } capture)
        {
            capture.Service = _service.Name;
        }

        return true;
    }

    private static RequestPlan ReadPlan(StreamItem head) =>
        HeaderBlock.TryRead(head.Memory.Span, out var block) == ProtocolError.None ? RequestPlan.Read(block, head.IsLast) : default;
}
