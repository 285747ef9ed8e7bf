using System.Runtime.CompilerServices;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <content>One attempt in HTTP/1.1: a connection of its own, kept or new.</content>
internal sealed partial class BackendExchange
{
    private async ValueTask<(BackendConnection? Connection, BackendFailure Failure)> ConnectAsync(bool fresh)
    {
        var connection = fresh ? null : _service.Backends.TryRent(_exchanges.Loop);
        if (connection is null)
        {
            using var connecting = new CancellationTokenSource();
            (connection, var failure) = _connection.BeginWait(connecting)
                ? await _service.Backends.ConnectAsync(fresh, connecting.Token, _exchanges.Loop).ConfigureAwait(false)
                : (null, default);
            _connection.EndWait();
            if (connection is null)
            {
                return (null, failure);
            }
        }

        _connection.Hold(connection);
        return (connection, BackendFailure.None);
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

        _counters.Capture?.OnSent("HTTP/1.1");
        if (plan.Framing is RequestFraming.Length or RequestFraming.Chunked
            && !(sentBody == plan.ContentLength && plan.Framing == RequestFraming.Length))
        {
            _requestPump = RequestPump.RunAsync(
                stream, connection.Transport, plan.Framing, plan.ContentLength - sentBody, _context.Buffers, _counters).Preserve();
        }
        else if (plan.Framing == RequestFraming.Length)
        {
            _counters.Capture?.OnRequestEnded();
        }

        return null;
    }

    /// <summary>Something came on the connection that cannot be the answer, because the request had not been sent.</summary>
    private AttemptEnd NotForThisRequest(BackendConnection connection)
    {
        if (connection.Transport.HasBytes())
        {
            _service.Backends.CaughtInPlaceOfResponse(connection);
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

        if (end.Failure.Reason == StreamResetReason.BackendProtocol && !_connection.IsAborted
            && _service.Misunderstandings is { } misunderstandings)
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
        else if (end.Outcome == AttemptOutcome.Answered && end.Reusable && _connection.Take() is { } returned)
        {
            _service.Backends.Return(returned, ResponseKinds.Of(returned.Parser, plan.Method));
        }

        return end;
    }

    private void Blame(AttemptEnd end, RequestPlan plan, BackendConnection connection)
    {
        if (end.Outcome == AttemptOutcome.Answered)
        {
            _service.Backends.Caught(ResponseKinds.Of(connection.Parser, plan.Method));
        }
        else if (!plan.IsReplayable)
        {
            _service.Backends.SuspectedInPlaceOfResponse(connection);
        }
        else if (_service.Backends.MayBeSurplus(connection))
        {
            // The same request on a new connection shows whether it is the service's answer to it.
            _suspect = connection.LastResponse;
        }
    }

    /// <summary>Something has come on a new connection after bytes in place of a response on a kept one, or nothing will.</summary>
    private void JudgeSuspect(ResponseHeadParser? answer)
    {
        if (_suspect is { } kind)
        {
            _suspect = null;
            if (answer is not ({ Error: Http1Error.InvalidStatusLine } or { StatusCode: 408, KeepAlive: false }))
            {
                _service.Backends.Caught(kind);
            }
        }
    }

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
            status = _service.RequestHeads.Write(block, plan.Framing, connection.RentBuffer(size), out length);
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
            _counters.Capture?.OnRequestBody(first.Memory.Span);
            stream.ConsumeData(sentBody);
        }

        return status;
    }
}
