using System.Runtime.CompilerServices;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Http1;
using Tunnel2.Inspection.Heads;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Reads a response from the backend and moves it into its stream: interim heads, the final head, and the body or what follows a switch of
/// protocols. Used by one exchange at a time and again by the next.
/// </summary>
internal sealed class ResponsePump
{
    private const int HeadBuffer = 16 * 1024;

    private readonly BufferPool _buffers;
    private readonly ExchangeCounters _counters;
    private readonly Func<bool> _isRequestOver;
    private readonly Action<ResponseHeadParser> _onAnswer;
    private readonly ReadAhead.Place _ahead;
    private readonly ResponseChunks _chunks = new();
    private ExchangeTiming _timing;

    /// <param name="buffers">Where the other direction of an upgraded connection rents its buffers.</param>
    /// <param name="counters">Where status and bytes are counted.</param>
    /// <param name="readAhead">Places for bodies that are read ahead of their credit.</param>
    /// <param name="isRequestOver">Whether the request's body is sent, or will not be.</param>
    /// <param name="onAnswer">Called for the answer to this request, and on a new connection for what comes in its place.</param>
    public ResponsePump(
        BufferPool buffers, ExchangeCounters counters, ReadAhead readAhead, Func<bool> isRequestOver, Action<ResponseHeadParser> onAnswer)
    {
        _onAnswer = onAnswer;
        _ahead = new ReadAhead.Place(readAhead);
        _isRequestOver = isRequestOver;
        _buffers = buffers;
        _counters = counters;
    }

    /// <summary>An exchange begins.</summary>
    /// <param name="timing">Measures it; the default value where nothing asks for it.</param>
    public void Begin(ExchangeTiming timing)
    {
        _timing = timing;
        _chunks.Reset();
    }

    /// <summary>There is a connection, and the request is sent on it; the last time counts.</summary>
    public void RequestIsSent() => _timing.MarkSent();

    /// <summary>Runs until the response is in the stream whole, or has failed.</summary>
    /// <param name="stream">The exchange's stream.</param>
    /// <param name="plan">What was asked.</param>
    /// <param name="connection">Where the request was sent.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<AttemptEnd> RunAsync(TunnelStream stream, RequestPlan plan, BackendConnection connection)
    {
        var parser = connection.Parser;
        var buffer = connection.Buffer ?? [];
        var filled = 0;
        var consumed = 0;
        var interim = 0;
        // Step 7: the response: interim heads leave at once, the final head leaves with the first body bytes.
        parser.Reset(plan.Method);
        var parsed = ParseStatus.NeedMore;
        while (parsed != ParseStatus.Done)
        {
            int received;
            try
            {
                if (filled == 0)
                {
                    // No buffer is held while nothing comes, where waiting without one costs nothing. A wait has already given it back.
                    if (connection.Buffer is not null && connection.WaitsFreely)
                    {
                        connection.ReturnBuffer();
                        await connection.WaitAsync().ConfigureAwait(false);
                    }

                    buffer = connection.Buffer ?? connection.RentBuffer(HeadBuffer);
                }

                received = await connection.ReceiveAsync(buffer.AsMemory(filled)).ConfigureAwait(false);
            }
            catch (IOException)
            {
                received = 0;
            }

            if (received == 0)
            {
                var outcome = filled == 0 && interim == 0 ? AttemptOutcome.NothingCame : AttemptOutcome.Failed;
                return new AttemptEnd(
                    outcome,
                    BackendFailure.Protocol(
                        interim == 0
                            ? Recognize(buffer.AsSpan(0, filled), StreamResetDetail.ClosedBeforeResponse)
                            : StreamResetDetail.ClosedBeforeResponse),
                    false);
            }

            filled += received;
            while ((parsed = parser.Parse(buffer.AsSpan(0, filled), out consumed)) == ParseStatus.Done && parser.IsInterim)
            {
                if (++interim > InterimLimits.Taken
                    || (interim <= InterimLimits.PassedOn
                        && !ResponseHeadEncoder.TrySend(stream, parser, buffer, default, false, default, out _, out _)))
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
                if (connection.IsReused && interim == 0 && parser.Error == Http1Error.InvalidStatusLine)
                {
                    // Not even the beginning of an answer: these bytes belong to the response before.
                    return InPlaceOfResponse(StreamResetDetail.MalformedHead);
                }

                _onAnswer(parser);
                return Fail(
                    parser.Error is Http1Error.HeadTooLarge or Http1Error.TooManyFields ? StreamResetDetail.HeadTooLarge
                    : interim == 0 && parser.StatusCode == 0 ? Recognize(buffer.AsSpan(0, filled), StreamResetDetail.MalformedHead)
                    : StreamResetDetail.MalformedHead);
            }

            if (parsed == ParseStatus.NeedMore && filled == buffer.Length)
            {
                // Not for ever: the parser has a limit.
                buffer = connection.GrowBuffer(filled, buffer.Length * 2);
            }
        }

        var requestWasWhole = plan.Framing switch
        {
            RequestFraming.None => true,
            RequestFraming.Length => _counters.RequestBytes >= plan.ContentLength,
            _ => _isRequestOver(),
        };
        if (parser.StatusCode == 408 && !parser.KeepAlive && connection.IsReused && interim == 0 && requestWasWhole)
        {
            // A backend's goodbye to an idle connection, which crossed this request: it had a whole one, so it cannot have waited for the
            // rest of it.
            return InPlaceOfResponse(StreamResetDetail.ClosedBeforeResponse);
        }

        _onAnswer(parser);
        _counters.StatusCode = parser.StatusCode;
        _counters.Capture?.OnResponseHead(buffer.AsSpan(0, consumed), parser.StatusCode);
        _timing.MarkHead();
        if (parser.StatusCode == 101)
        {
            if (plan.Framing != RequestFraming.Raw)
            {
                return Fail(StreamResetDetail.UnexpectedUpgrade);
            }

            if (!TrySwitch(stream, connection, buffer, consumed, filled, out var first))
            {
                return Fail(StreamResetDetail.HeadTooLarge);
            }

            // The backend has switched protocols: raw bytes both ways until both sides have ended.
            var (tunnel, _) = await RawPump.RunBothWaysAsync(stream, connection, _buffers, _counters, first, byReset: false)
                .ConfigureAwait(false);
            return new AttemptEnd(tunnel.IsComplete ? AttemptOutcome.Answered : AttemptOutcome.Failed, tunnel.Failure, false);
        }

        ResponseBodyEnd body;
        try
        {
            body = await SendFinalAsync(stream, connection, consumed, filled).ConfigureAwait(false);
        }
        finally
        {
            _ahead.Release();
        }

        if (!body.IsComplete)
        {
            return new AttemptEnd(AttemptOutcome.Failed, body.Failure, false);
        }

        // A backend that answers before it has read the request may take the rest of it for the next one, and answer that too.
        var reusable = parser.KeepAlive && parser.BodyKind != BodyKind.UntilClose && requestWasWhole;
        return new AttemptEnd(
            AttemptOutcome.Answered, BackendFailure.None, reusable && body.Leftover == 0, Surplus: parser.KeepAlive && body.Leftover > 0);
    }

    /// <summary>Sends the final head, what came of the body with it, and then the rest of the body.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ResponseBodyEnd> SendFinalAsync(TunnelStream stream, BackendConnection connection, int headLength, int filled)
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
        _counters.Capture?.OnResponseBody(body.Span);
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
            return ResponseBodyEnd.NoReaderLeft;
        }

        if (end)
        {
            return ResponseBodyEnd.Complete(leftover);
        }

        if (parser.BodyKind != BodyKind.Chunked)
        {
            var remaining = parser.BodyKind == BodyKind.Length ? parser.ContentLength!.Value - bodyLength : -1;
            return await ResponseBodyPump.RunPlainAsync(stream, connection, remaining, _counters, _ahead).ConfigureAwait(false);
        }

        if (chunked == ChunkedStatus.Done)
        {
            _counters.Capture?.OnResponseTrailers(TrailerBlock.Of(_chunks.Trailers, _chunks.TrailerBytes(buffer)));
            return ResponseHeadEncoder.TrySendTrailers(stream, _chunks.Trailers, _chunks.TrailerBytes(buffer), out _)
                ? ResponseBodyEnd.Complete(leftover)
                : ResponseBodyEnd.Failed(StreamResetDetail.MalformedBody);
        }

        buffer.AsSpan(_chunks.Consumed, leftover).CopyTo(buffer);
        return await ResponseBodyPump.RunChunkedAsync(stream, connection, leftover, _chunks, _counters, _ahead).ConfigureAwait(false);
    }

    /// <summary>Sends the head of a switch, with as much as there is room for of what came after it.</summary>
    private bool TrySwitch(
        TunnelStream stream, BackendConnection connection, byte[] buffer, int headLength, int filled, out ReadOnlyMemory<byte> rest)
    {
        var first = buffer.AsMemory(headLength, filled - headLength);
        if (!ResponseHeadEncoder.TrySend(stream, connection.Parser, buffer, first.Span, end: false, _timing, out var taken, out _))
        {
            rest = default;
            return false;
        }

        if (_counters.Capture is { } capture)
        {
            capture.OnUpgraded();
            capture.OnResponseBody(first.Span);
        }

        _counters.ResponseBytes += first.Length;
        rest = first[taken..];
        return true;
    }

    /// <summary>What speaks that does not begin as HTTP/1.x does.</summary>
    private StreamResetDetail Recognize(ReadOnlySpan<byte> first, StreamResetDetail otherwise)
    {
        _counters.Greeting = otherwise == StreamResetDetail.MalformedHead && !first.StartsWith("HTTP/"u8) ? FirstBytes.Text(first) : null;
        return FirstBytes.AreTls(first)
            ? StreamResetDetail.SpeaksTls
            : FirstBytes.AreHttp2(first)
            ? StreamResetDetail.SpeaksHttp2
            : otherwise;
    }

    private static AttemptEnd InPlaceOfResponse(StreamResetDetail detail) =>
        new(AttemptOutcome.NothingCame, BackendFailure.Protocol(detail), false, Surplus: true);

    private static AttemptEnd Fail(StreamResetDetail detail) => new(AttemptOutcome.Failed, BackendFailure.Protocol(detail), false);
}
