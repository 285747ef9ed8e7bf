using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Events;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// One request of a visitor, from its stream to the backend and back. The object is used again for a later exchange.
/// </summary>
/// <remarks>
/// Who owns what: the exchange owns the stream until <see cref="TunnelStream.Release"/> and the connection until it is returned or
/// disposed of; the request pump borrows both while it runs, and the exchange never lets go of either before the pump has ended.
/// </remarks>
internal sealed class BackendExchange
{
    private const int HeadBuffer = 16 * 1024;
    private const int MaxHeadBuffer = 256 * 1024;

    private readonly UplinkExchanges _exchanges;
    private readonly ExchangeContext _context;
    private readonly Lock _gate = new();
    private readonly ExchangeCounters _counters = new();
    private readonly ResponsePump _responses;
    private readonly Action _finish;
    private ValueTaskAwaiter _running;
    private ValueTask<RequestPumpEnd>? _requestPump;
    private StreamId _id;
    private BackendConnection? _connection;
    private CancellationTokenSource? _connecting;
    private bool _aborted;

    public BackendExchange(UplinkExchanges exchanges)
    {
        _exchanges = exchanges;
        _context = exchanges.Context;
        _responses = new ResponsePump(_context.Buffers, _counters, () => _requestPump is not { } pump || pump.IsCompleted);
        _finish = Finish;
    }

    /// <summary>Serves a stream; returns at its first wait.</summary>
    [SuppressMessage("Reliability", "CA2012", Justification = "Awaited by hand, and once: see the comment.")]
    public void Start(TunnelStream stream)
    {
        _counters.Reset();
        _aborted = false;

        // No other thread knows this use yet: a call for an earlier one does not find its id.
        _id = stream.Id;

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
        var summary = _context.Events.WantsRequests ? Describe(stream) : default;
        var started = _context.Events.WantsRequests ? _context.TimeProvider.GetTimestamp() : 0;
        var failure = BackendFailure.None;
        try
        {
            var retry = TryBegin(stream, out var head, out var plan, ref failure) && plan.IsReplayable;
            if (plan.IsValid && _context.IsOneTooMany())
            {
                (plan, failure) = (default, new BackendFailure(StreamResetReason.Refused, StreamResetDetail.TooManyStreams));
            }

            while (plan.IsValid)
            {
                // Step 6: a connection to the backend, kept or new; then the request on it.
                (var connection, failure) = await ConnectAsync(fresh: !retry && plan.IsReplayable).ConfigureAwait(false);
                if (connection is null)
                {
                    break;
                }

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
                if (end.Value.Outcome != AttemptOutcome.NothingCame || !mayRetry || _aborted)
                {
                    break;
                }

                retry = false;
                TakeConnection()?.Dispose();
            }
        }
        catch (Exception)
        {
            // A fault of ours ends this exchange and nothing else.
            failure = new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None);
        }

        if (EndUse())
        {
            // What failed, failed because the exchange was aborted.
            failure = BackendFailure.None;
        }

        if (!failure.IsNone)
        {
            stream.ResetAfterHead(failure.Reason, failure.Detail);
        }

        if (_context.Events.WantsRequests)
        {
            Report(summary, _context.TimeProvider.GetElapsedTime(started), stream, failure);
        }
        else if (!failure.IsNone)
        {
            ReportFailure(failure);
        }

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

        plan = ReadPlan(head);
        if (!plan.IsValid)
        {
            failure = new BackendFailure(StreamResetReason.VisitorProtocol, StreamResetDetail.None);
            return false;
        }

        _responses.Begin(plan.WantsTiming ? new ExchangeTiming(_context.TimeProvider) : default);
        stream.NotifyReset(static (exchange, id) => ((BackendExchange)exchange!).Abort(id), this);
        return true;
    }

    /// <summary>Sends the request on a connection, and starts the pump for the body bytes that are still to come.</summary>
    /// <returns>How the attempt ended; null when it continues.</returns>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<AttemptEnd?> SendAsync(TunnelStream stream, StreamItem head, RequestPlan plan, BackendConnection connection)
    {
        var status = WriteRequest(stream, head, plan, connection, out var length, out var sentBody);
        if (status != HeadWriteStatus.Ok)
        {
            var reason = status == HeadWriteStatus.InvalidSyntax ? StreamResetReason.VisitorProtocol : StreamResetReason.BackendProtocol;
            return new AttemptEnd(AttemptOutcome.Failed, new BackendFailure(reason, StreamResetDetail.HeadTooLarge), false);
        }

        _responses.RequestIsSent();
        if (connection.HasArrival)
        {
            return NotForThisRequest(connection);
        }

        try
        {
            var sending = connection.Transport.SendAsync(connection.Buffer.AsMemory(0, length));
            if (!sending.IsCompletedSuccessfully)
            {
                await sending.ConfigureAwait(false);
                if (plan.IsReplayable && connection.HasArrival)
                {
                    // It may have come before the whole head was sent, and half a head has no answer.
                    return NotForThisRequest(connection);
                }
            }
        }
        catch (IOException)
        {
            if (plan.IsReplayable)
            {
                return new AttemptEnd(AttemptOutcome.NothingCame, BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse), false);
            }
        }

        if (plan.Framing is RequestFraming.Length or RequestFraming.Chunked
            && !(sentBody == plan.ContentLength && plan.Framing == RequestFraming.Length))
        {
            _requestPump = RequestPump.RunAsync(
                stream, connection.Transport, plan.Framing, plan.ContentLength - sentBody, _context.Buffers, _counters).Preserve();
        }

        return null;
    }

    /// <summary>Something came on the connection that cannot be the answer, because the request had not been sent.</summary>
    private AttemptEnd NotForThisRequest(BackendConnection connection)
    {
        if (connection.Transport.HasBytes())
        {
            _context.Backends.CaughtInPlaceOfResponse(connection);
        }

        return new AttemptEnd(AttemptOutcome.NothingCame, BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse), false);
    }

    /// <summary>Moves the response into the stream, and sees the request's body to its end.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<AttemptEnd> ReceiveAsync(TunnelStream stream, RequestPlan plan, BackendConnection connection)
    {
        var end = new AttemptEnd(AttemptOutcome.Failed, new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None), false);
        try
        {
            end = await _responses.RunAsync(stream, plan, connection).ConfigureAwait(false);
        }
        catch (Exception) when (_requestPump is not null)
        {
            // A fault of our own. The request's pump still uses stream and connection: it is made to end below.
        }

        if (end.Failure.Reason == StreamResetReason.BackendProtocol && !_aborted && _context.Misunderstandings is { } misunderstandings)
        {
            var closedNew = end.Outcome == AttemptOutcome.NothingCame && !connection.IsReused;
            end = end with
            {
                Failure = await misunderstandings.ExplainAsync(end.Failure, closedNew, _counters.Greeting).ConfigureAwait(false),
            };
        }

        if (_requestPump is { } pump)
        {
            if (end.Outcome != AttemptOutcome.Answered)
            {
                connection.Transport.Abort();
                stream.Reset(end.Failure.IsNone ? StreamResetReason.Cancel : end.Failure.Reason, end.Failure.Detail);
            }

            // A backend may answer before it has read the whole body; ProxyEntry then says when to stop.
            var sent = await pump.ConfigureAwait(false);
            _requestPump = null;
            end = end with { Reusable = end.Reusable && sent == RequestPumpEnd.Complete };
        }

        if (end.Surplus)
        {
            Blame(end, plan, connection);
        }
        else if (end.Outcome == AttemptOutcome.Answered && end.Reusable && TakeConnection() is { } returned)
        {
            _context.Backends.Return(returned, ResponseKinds.Of(returned.Parser, plan.Method));
        }

        return end;
    }

    private void Blame(AttemptEnd end, RequestPlan plan, BackendConnection connection)
    {
        if (end.Outcome == AttemptOutcome.Answered)
        {
            _context.Backends.Caught(ResponseKinds.Of(connection.Parser, plan.Method));
        }
        else
        {
            _context.Backends.CaughtInPlaceOfResponse(connection);
        }
    }

    private async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(bool fresh)
    {
        var connection = fresh ? null : _context.Backends.TryRent(_exchanges.Loop);
        var failure = BackendFailure.None;
        if (connection is null)
        {
            using var connecting = new CancellationTokenSource();
            lock (_gate)
            {
                _connecting = connecting;
            }

            (connection, failure) = _aborted
                ? (null, default)
                : await _context.Backends.ConnectAsync(fresh, connecting.Token, _exchanges.Loop).ConfigureAwait(false);
            lock (_gate)
            {
                _connecting = null;
            }
        }

        if (connection is null)
        {
            return (null, failure);
        }

        lock (_gate)
        {
            _connection = connection;
            if (_aborted)
            {
                connection.Transport.Abort();
            }
        }

        return (connection, BackendFailure.None);
    }

    /// <summary>The visitor left, or the uplink is gone: every wait of the exchange ends.</summary>
    private void Abort(StreamId id)
    {
        lock (_gate)
        {
            // The call may come late, when the object already serves another stream.
            if (_id == id)
            {
                _aborted = true;
                _connection?.Transport.Abort();
                _connecting?.Cancel();
            }
        }
    }

    /// <summary>Closes the connection, if the exchange still has it; a call to <see cref="Abort"/> finds nothing from now on.</summary>
    /// <returns>Whether the exchange was aborted.</returns>
    private bool EndUse()
    {
        BackendConnection? left;
        bool aborted;
        lock (_gate)
        {
            _id = StreamId.Uplink;
            aborted = _aborted;
            left = _connection;
            _connection = null;
        }

        left?.Dispose();
        return aborted;
    }

    private BackendConnection? TakeConnection()
    {
        lock (_gate)
        {
            var taken = _connection;
            _connection = null;
            return taken;
        }
    }

    private static RequestPlan ReadPlan(StreamItem head) =>
        HeaderBlock.TryRead(head.Memory.Span, out var block) == ProtocolError.None ? RequestPlan.Read(block, head.IsLast) : default;

    /// <summary>
    /// Writes the request's head, and after it what has arrived of a body whose length is known, into the connection's buffer.
    /// </summary>
    private HeadWriteStatus WriteRequest(
        TunnelStream stream, StreamItem head, RequestPlan plan, BackendConnection connection, out int length, out int sentBody)
    {
        HeaderBlock.TryRead(head.Memory.Span, out var block);
        sentBody = 0;
        var status = HeadWriteStatus.DestinationTooSmall;
        length = 0;
        for (var size = HeadBuffer; size <= MaxHeadBuffer && status == HeadWriteStatus.DestinationTooSmall; size *= 2)
        {
            status = _context.RequestHeads.Write(block, plan.Framing, connection.RentBuffer(size), out length);
        }

        if (status != HeadWriteStatus.Ok || plan.IsReplayable)
        {
            // A request that may be sent again keeps its head.
            return status;
        }

        stream.ConsumeHead();
        if (plan.Framing == RequestFraming.Length && stream.TryRead(out var first) && first.Kind == StreamItemKind.Data
            && first.Memory.Length <= plan.ContentLength && first.Memory.Length <= connection.Buffer!.Length - length)
        {
            sentBody = first.Memory.Length;
            first.Memory.Span.CopyTo(connection.Buffer.AsSpan(length));
            length += sentBody;
            _counters.RequestBytes += sentBody;
            stream.ConsumeData(sentBody);
        }

        return status;
    }

    /// <summary>What the visitor caused, or another agent may still serve, is no failure.</summary>
    private void ReportFailure(BackendFailure failure)
    {
        var (leg, error) = ExchangeFailureWords.For(failure.Reason, failure.Detail);
        if (leg != "visitor" && (failure.Reason != StreamResetReason.Refused || failure.Detail == StreamResetDetail.TooManyStreams))
        {
            _context.Events.RequestFailed(leg, error);
        }
    }

    private void Report(RequestSummary summary, TimeSpan duration, TunnelStream stream, BackendFailure failure)
    {
        (string Leg, string Error)? trouble = failure.IsNone
            ? ExchangeFailureWords.For(stream.Failure)
            : ExchangeFailureWords.For(failure.Reason, failure.Detail);
        _context.Events.RequestCompleted(summary with
        {
            StatusCode = _counters.StatusCode,
            Duration = duration,
            RequestBytes = _counters.RequestBytes,
            ResponseBytes = _counters.ResponseBytes,
            Error = trouble?.Error,
            Leg = trouble?.Leg,
        });
    }

    private static RequestSummary Describe(TunnelStream stream)
    {
        if (!stream.TryRead(out var head)
            || head.Kind != StreamItemKind.Head
            || HeaderBlock.TryRead(head.Memory.Span, out var block) != ProtocolError.None)
        {
            return default;
        }

        return new RequestSummary(
            PlainText.Clean(Encoding.Latin1.GetString(block.Method)), Encoding.Latin1.GetString(block.Target), 0, default, 0, 0);
    }
}
