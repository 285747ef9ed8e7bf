using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Streams;
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
    private const int MaxHeadBuffer = 128 * 1024;

    /// <summary>More interim responses than this are a backend gone wrong.</summary>
    private const int MaxInterim = 16;

    private readonly ExchangeContext _context;
    private readonly Lock _gate = new();
    private readonly ResponseChunks _chunks = new();
    private readonly ExchangeCounters _counters = new();
    private readonly Action _finish;
    private ValueTaskAwaiter _running;
    private StreamId _id;
    private BackendConnection? _connection;
    private CancellationTokenSource? _connecting;
    private bool _aborted;
    private ExchangeTiming _timing;

    public BackendExchange(ExchangeContext context)
    {
        _context = context;
        _finish = Finish;
    }

    /// <summary>Serves a stream; returns at its first wait.</summary>
    [SuppressMessage("Reliability", "CA2012", Justification = "Awaited by hand, and once: see the comment.")]
    public void Start(TunnelStream stream)
    {
        _counters.Reset();
        _chunks.Reset();
        _aborted = false;
        lock (_gate)
        {
            _id = stream.Id;
        }

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
        _context.Return(this);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask RunAsync(TunnelStream stream)
    {
        var summary = _context.Events.WantsRequests ? Describe(stream) : default;
        var started = _context.Events.WantsRequests ? _context.TimeProvider.GetTimestamp() : 0;
        BackendFailure failure;
        try
        {
            failure = await ServeAsync(stream).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours ends this exchange and nothing else.
            failure = new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None);
        }

        if (WasAborted())
        {
            // What failed then failed because we cut it.
            failure = BackendFailure.None;
        }

        if (!failure.IsNone)
        {
            stream.Reset(failure.Reason, failure.Detail);
        }

        TakeConnection()?.Dispose();
        if (_context.Events.WantsRequests)
        {
            (string Leg, string Error)? trouble = failure.IsNone ? ExchangeFailureWords.For(stream.Failure) : ExchangeFailureWords.For(failure.Reason, failure.Detail);
            _context.Events.RequestCompleted(summary with
            {
                StatusCode = _counters.StatusCode,
                Duration = _context.TimeProvider.GetElapsedTime(started),
                RequestBytes = _counters.RequestBytes,
                ResponseBytes = _counters.ResponseBytes,
                Error = trouble?.Error,
                Leg = trouble?.Leg,
            });
        }

        lock (_gate)
        {
            _id = StreamId.Uplink;
        }

        stream.Release();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<BackendFailure> ServeAsync(TunnelStream stream)
    {
        if (!stream.TryRead(out var head) || head.Kind != StreamItemKind.Head)
        {
            return BackendFailure.None;
        }

        var plan = ReadPlan(head);
        if (!plan.IsValid)
        {
            return new BackendFailure(StreamResetReason.VisitorProtocol, StreamResetDetail.None);
        }

        _timing = plan.WantsTiming ? new ExchangeTiming(_context.TimeProvider) : default;
        stream.NotifyReset(static (exchange, id) => ((BackendExchange)exchange!).Abort(id), this);
        var retry = plan.IsReplayable;
        while (true)
        {
            var (connection, failure) = await ConnectAsync(!plan.IsReplayable, fresh: !retry && plan.IsReplayable).ConfigureAwait(false);
            if (connection is null)
            {
                return failure;
            }

            // A kept connection that the backend has closed meanwhile is found out here, before anything of an answer came.
            var mayRetry = retry && connection.IsReused;
            (var outcome, failure) = await AttemptAsync(stream, head, plan, connection).ConfigureAwait(false);
            if (outcome != AttemptOutcome.NothingCame || !mayRetry || _aborted)
            {
                return failure;
            }

            retry = false;
            TakeConnection()?.Dispose();
        }
    }

    /// <summary>One attempt on one connection.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<(AttemptOutcome Outcome, BackendFailure Failure)> AttemptAsync(
        TunnelStream stream, StreamItem head, RequestPlan plan, BackendConnection connection)
    {
        var nothing = (AttemptOutcome.NothingCame, BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse));
        var status = WriteRequest(stream, head, plan, connection, out var length, out var sentBody);
        if (status != HeadWriteStatus.Ok)
        {
            var reason = status == HeadWriteStatus.InvalidSyntax ? StreamResetReason.VisitorProtocol : StreamResetReason.BackendProtocol;
            return (AttemptOutcome.Failed, new BackendFailure(reason, StreamResetDetail.HeadTooLarge));
        }

        _timing.MarkSent();
        ValueTask<RequestPumpEnd>? requestPump = null;
        try
        {
            await connection.Transport.SendAsync(connection.Buffer.AsMemory(0, length)).ConfigureAwait(false);
        }
        catch (IOException)
        {
            if (plan.IsReplayable)
            {
                return nothing;
            }
        }

        if (plan.Framing is RequestFraming.Length or RequestFraming.Chunked && !(sentBody == plan.ContentLength && plan.Framing == RequestFraming.Length))
        {
            requestPump = RequestPump.RunAsync(stream, connection.Transport, plan.Framing, plan.ContentLength - sentBody, _context.Buffers, _counters).Preserve();
        }

        var (outcome, failure, reusable) = (AttemptOutcome.Failed, new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None), false);
        try
        {
            (outcome, failure, reusable) = await RespondAsync(stream, plan, connection).ConfigureAwait(false);
        }
        catch (Exception) when (requestPump is not null)
        {
            // A fault of ours. Stream and connection are let go of only when the request's pump has: it is made to end below.
        }

        if (requestPump is { } pump)
        {
            if (outcome != AttemptOutcome.Answered)
            {
                connection.Transport.Abort();
                stream.Reset(failure.IsNone ? StreamResetReason.Cancel : failure.Reason, failure.Detail);
            }

            // A backend may answer before it has read the whole body; ProxyEntry then says when to stop.
            var end = await pump.ConfigureAwait(false);
            reusable &= end == RequestPumpEnd.Complete;
        }

        if (outcome == AttemptOutcome.Answered && reusable && TakeConnection() is { } returned)
        {
            _context.Backends.Return(returned);
        }

        return (outcome, failure);
    }

    /// <summary>Reads the response and moves it into the stream.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<(AttemptOutcome Outcome, BackendFailure Failure, bool Reusable)> RespondAsync(
        TunnelStream stream, RequestPlan plan, BackendConnection connection)
    {
        var parser = connection.Parser;
        var buffer = connection.Buffer!;
        var filled = 0;
        var consumed = 0;
        var interim = 0;
        parser.Reset(plan.Method);
        var parsed = ParseStatus.NeedMore;
        while (parsed != ParseStatus.Done)
        {
            int received;
            try
            {
                if (filled == 0 && connection.Transport.WaitsFreely)
                {
                    // A thousand exchanges that wait for the backend need no buffer, and the few that go on use the same ones, warm in the cache.
                    connection.ReturnBuffer();
                    await connection.Transport.ReceiveAsync(Memory<byte>.Empty).ConfigureAwait(false);
                    buffer = connection.RentBuffer(HeadBuffer);
                }

                received = await connection.Transport.ReceiveAsync(buffer.AsMemory(filled)).ConfigureAwait(false);
            }
            catch (IOException)
            {
                received = 0;
            }

            if (received == 0)
            {
                var outcome = filled == 0 && interim == 0 ? AttemptOutcome.NothingCame : AttemptOutcome.Failed;
                return (outcome, BackendFailure.Protocol(StreamResetDetail.ClosedBeforeResponse), false);
            }

            filled += received;
            while ((parsed = parser.Parse(buffer.AsSpan(0, filled), out consumed)) == ParseStatus.Done && parser.IsInterim)
            {
                if (++interim > MaxInterim || !ResponseHeadEncoder.TrySend(stream, parser, buffer, default, false, default, out _, out _))
                {
                    return Fail(StreamResetDetail.MalformedHead);
                }

                filled -= consumed;
                buffer.AsSpan(consumed, filled).CopyTo(buffer);
                parser.Reset(plan.Method);
                if (filled == 0)
                {
                    parsed = ParseStatus.NeedMore;
                    break;
                }
            }

            if (parsed == ParseStatus.Invalid)
            {
                return Fail(parser.Error is Http1Error.HeadTooLarge or Http1Error.TooManyFields ? StreamResetDetail.HeadTooLarge : StreamResetDetail.MalformedHead);
            }

            if (parsed == ParseStatus.NeedMore && filled == buffer.Length)
            {
                if (buffer.Length >= MaxHeadBuffer)
                {
                    return Fail(StreamResetDetail.HeadTooLarge);
                }

                buffer = connection.GrowBuffer(filled, buffer.Length * 2);
            }
        }

        _counters.StatusCode = parser.StatusCode;
        _timing.MarkHead();
        if (parser.StatusCode == 101)
        {
            return plan.Framing == RequestFraming.Raw ? await TunnelAsync(stream, connection, consumed, filled).ConfigureAwait(false) : Fail(StreamResetDetail.UnexpectedUpgrade);
        }

        var body = await RespondFinalAsync(stream, connection, consumed, filled).ConfigureAwait(false);
        if (!body.IsComplete)
        {
            return (AttemptOutcome.Failed, body.Failure, false);
        }

        return (AttemptOutcome.Answered, BackendFailure.None, parser.KeepAlive && parser.BodyKind != BodyKind.UntilClose && body.Leftover == 0);

        static (AttemptOutcome, BackendFailure, bool) Fail(StreamResetDetail detail) => (AttemptOutcome.Failed, BackendFailure.Protocol(detail), false);
    }

    /// <summary>Sends the final head, what came of the body with it, and then the rest of the body.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ResponseBodyEnd> RespondFinalAsync(TunnelStream stream, BackendConnection connection, int headLength, int filled)
    {
        var parser = connection.Parser;
        var buffer = connection.Buffer!;
        var bodyLength = filled - headLength;
        var leftover = 0;
        var end = false;
        var chunked = ChunkedStatus.NeedMore;
        switch (parser.BodyKind)
        {
            case BodyKind.None:
                leftover = bodyLength;
                bodyLength = 0;
                end = true;
                break;
            case BodyKind.Length:
                leftover = (int)Math.Max(0, bodyLength - parser.ContentLength!.Value);
                bodyLength -= leftover;
                end = bodyLength == parser.ContentLength;
                break;
            case BodyKind.Chunked:
                chunked = _chunks.DecodeInPlace(buffer, headLength, filled, out bodyLength);
                if (chunked == ChunkedStatus.Invalid)
                {
                    return ResponseBodyEnd.Failed(StreamResetDetail.MalformedBody);
                }

                leftover = filled - _chunks.Consumed;
                end = chunked == ChunkedStatus.Done && !_chunks.HasTrailers;
                break;
            default:
                break;
        }

        var body = buffer.AsMemory(headLength, bodyLength);
        _counters.ResponseBytes += bodyLength;
        if (!ResponseHeadEncoder.TrySend(stream, parser, buffer, body.Span, end, _timing, out var taken, out var sent))
        {
            return ResponseBodyEnd.Failed(StreamResetDetail.HeadTooLarge);
        }

        if (sent == StreamSendStatus.Sent && taken < bodyLength)
        {
            sent = await stream.WriteAsync(body[taken..], end).ConfigureAwait(false);
        }

        if (sent != StreamSendStatus.Sent)
        {
            return ResponseBodyEnd.NobodyLeft;
        }

        if (end)
        {
            return ResponseBodyEnd.Complete(leftover);
        }

        if (parser.BodyKind != BodyKind.Chunked)
        {
            var remaining = parser.BodyKind == BodyKind.Length ? parser.ContentLength!.Value - bodyLength : -1;
            return await ResponseBodyPump.RunPlainAsync(stream, connection, remaining, _counters).ConfigureAwait(false);
        }

        if (chunked == ChunkedStatus.Done)
        {
            return ResponseHeadEncoder.TrySendTrailers(stream, _chunks.Trailers, _chunks.TrailerBytes(buffer), out _)
                ? ResponseBodyEnd.Complete(leftover)
                : ResponseBodyEnd.Failed(StreamResetDetail.MalformedBody);
        }

        buffer.AsSpan(_chunks.Consumed, leftover).CopyTo(buffer);
        return await ResponseBodyPump.RunChunkedAsync(stream, connection, leftover, _chunks, _counters).ConfigureAwait(false);
    }

    /// <summary>The backend has switched protocols: raw bytes both ways until both sides have ended.</summary>
    private async ValueTask<(AttemptOutcome Outcome, BackendFailure Failure, bool Reusable)> TunnelAsync(
        TunnelStream stream, BackendConnection connection, int headLength, int filled)
    {
        var buffer = connection.Buffer!;
        var first = buffer.AsMemory(headLength, filled - headLength);
        if (!ResponseHeadEncoder.TrySend(stream, connection.Parser, buffer, first.Span, end: false, _timing, out var taken, out var sent))
        {
            return (AttemptOutcome.Failed, BackendFailure.Protocol(StreamResetDetail.HeadTooLarge), false);
        }

        var requestPump = RequestPump.RunAsync(stream, connection.Transport, RequestFraming.Raw, 0, _context.Buffers, _counters).Preserve();
        if (taken < first.Length)
        {
            await stream.WriteAsync(first[taken..], end: false).ConfigureAwait(false);
        }

        _counters.ResponseBytes += first.Length;
        connection.ReturnBuffer();
        var end = new ResponseBodyEnd(new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None), false, 0);
        try
        {
            end = await RawResponsePump.RunAsync(stream, connection, _counters).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours: the request's pump is made to end below, before anything is let go of.
        }

        if (!end.IsComplete)
        {
            connection.Transport.Abort();
            stream.Reset(end.Failure.IsNone ? StreamResetReason.Cancel : end.Failure.Reason, end.Failure.Detail);
        }

        await requestPump.ConfigureAwait(false);
        return (end.IsComplete ? AttemptOutcome.Answered : AttemptOutcome.Failed, end.Failure, false);
    }

    private async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(bool check, bool fresh)
    {
        var connection = fresh ? null : _context.Backends.TryRent(check);
        var failure = BackendFailure.None;
        if (connection is null)
        {
            using var connecting = new CancellationTokenSource();
            lock (_gate)
            {
                _connecting = connecting;
            }

            (connection, failure) = _aborted ? (null, default) : await _context.Backends.ConnectAsync(connecting.Token).ConfigureAwait(false);
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

    /// <summary>The visitor left, or the uplink is gone: whatever is waited for ends.</summary>
    private void Abort(StreamId id)
    {
        lock (_gate)
        {
            // The call may come late, when the object serves another stream already.
            if (_id == id)
            {
                _aborted = true;
                _connection?.Transport.Abort();
                _connecting?.Cancel();
            }
        }
    }

    private bool WasAborted()
    {
        lock (_gate)
        {
            return _aborted;
        }
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

    /// <summary>Writes the request's head, and behind it what has arrived of a body whose length is known, into the connection's buffer.</summary>
    private HeadWriteStatus WriteRequest(TunnelStream stream, StreamItem head, RequestPlan plan, BackendConnection connection, out int length, out int sentBody)
    {
        HeaderBlock.TryRead(head.Memory.Span, out var block);
        sentBody = 0;
        var status = HeadWriteStatus.DestinationTooSmall;
        length = 0;
        for (var size = HeadBuffer; size <= 2 * MaxHeadBuffer && status == HeadWriteStatus.DestinationTooSmall; size *= 2)
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

    private static RequestSummary Describe(TunnelStream stream)
    {
        if (!stream.TryRead(out var head) || head.Kind != StreamItemKind.Head || HeaderBlock.TryRead(head.Memory.Span, out var block) != ProtocolError.None)
        {
            return default;
        }

        return new RequestSummary(Encoding.Latin1.GetString(block.Method), Encoding.Latin1.GetString(block.Target), 0, default, 0, 0);
    }

    private enum AttemptOutcome
    {
        /// <summary>The whole response is in the stream.</summary>
        Answered,

        /// <summary>Nothing of a response came.</summary>
        NothingCame,

        /// <summary>It failed in its course.</summary>
        Failed,
    }
}
