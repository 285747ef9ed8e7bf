using System.Runtime.CompilerServices;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Inspection.Heads;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.WebSockets;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>How a response ended.</summary>
internal enum ResponseEnd
{
    /// <summary>The visitor has the whole response.</summary>
    Complete,

    /// <summary>The connection was upgraded and has ended.</summary>
    Upgraded,

    /// <summary>The visitor left.</summary>
    VisitorLeft,

    /// <summary>The stream failed; its failure says why.</summary>
    StreamFailed,

    /// <summary>The agent's data is not a valid response.</summary>
    Malformed,
}

/// <summary>Moves a response from its stream to the visitor, each piece as it comes. Thread-safe.</summary>
/// <param name="observers">The observers that learn of the response.</param>
/// <param name="https">Adds what browsers remember of HTTPS; null: nothing.</param>
internal sealed class ResponsePump(RequestObservers observers, HttpsRules? https = null)
{
    /// <summary>Pieces of at least this size are sent from where they are, without a copy.</summary>
    private const int SendAt = 16 * 1024;

    /// <summary>While more data is at hand, pieces are gathered up to this size before they are sent.</summary>
    private const int FlushAt = 64 * 1024;

    /// <summary>Runs until the response has ended or failed.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<ResponseEnd> RunAsync(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream)
    {
        var upgraded = false;
        var isWebSocket = false;
        while (true)
        {
            await stream.WaitToReadAsync().ConfigureAwait(false);
            request.Touch();
            if (!stream.TryRead(out var item) || item.Kind != StreamItemKind.Head)
            {
                return exchange.VisitorLeft.IsCancellationRequested ? ResponseEnd.VisitorLeft : ResponseEnd.StreamFailed;
            }

            var isLast = item.IsLast;
            if (request.Continue is { } turn)
            {
                await turn.BeginHeadAsync().ConfigureAwait(false);
            }

            var outcome = HeadOutcome.Malformed;
            try
            {
                outcome = OnHead(exchange, request, item, stream.Uplink.Slot, out upgraded, ref isWebSocket);
                if (outcome == HeadOutcome.InterimToSend)
                {
                    await request.WaitFor(exchange, exchange.FlushAsync()).ConfigureAwait(false);
                }
            }
            finally
            {
                request.Continue?.EndHead(isFinal: outcome is HeadOutcome.Final or HeadOutcome.Malformed);
            }

            switch (outcome)
            {
                case HeadOutcome.Interim:
                case HeadOutcome.InterimToSend:
                    stream.ConsumeHead();
                    continue;
                case HeadOutcome.Malformed:
                    stream.Reset(StreamResetReason.BackendProtocol);
                    return ResponseEnd.Malformed;
                default:
                    stream.ConsumeHead();
                    break;
            }

            if (upgraded)
            {
                return await UpgradedPump.RunAsync(exchange, request, stream, isWebSocket).ConfigureAwait(false);
            }

            // The final head has arrived: a body that the visitor holds back for a 100 is no longer wanted.
            request.Continue?.Release();
            request.Phase = ForwardPhase.Body;
            if (exchange.IsUpgrade)
            {
                // The visitor asked for an upgrade and the backend did not switch: the visitor's direction carries nothing.
                await stream.WriteAsync(default, end: true).ConfigureAwait(false);
            }

            return isLast
                ? await FinishAsync(exchange, request, 0).ConfigureAwait(false)
                : await CopyBodyAsync(exchange, request, stream).ConfigureAwait(false);
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<ResponseEnd> CopyBodyAsync(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream)
    {
        var unflushed = 0;
        while (true)
        {
            if (!stream.TryRead(out var item))
            {
                // The head does not wait for the body, which may come much later.
                if (unflushed > 0 || !exchange.HasResponseStarted)
                {
                    unflushed = 0;
                    if (!await request.WaitFor(exchange, exchange.FlushAsync()).ConfigureAwait(false))
                    {
                        stream.Reset(StreamResetReason.Cancel, exchange.LeftDetail);
                        return ResponseEnd.VisitorLeft;
                    }
                }

                request.Touch();
                await stream.WaitToReadAsync().ConfigureAwait(false);
                request.Touch();
                continue;
            }

            switch (item.Kind)
            {
                case StreamItemKind.Data:
                    if (!exchange.ResponseMayHaveBody)
                    {
                        stream.Reset(StreamResetReason.BackendProtocol);
                        return ResponseEnd.Malformed;
                    }

                    var length = item.Memory.Length;
                    if (request.ResponseLeft != ResponseFacts.NoLength && (request.ResponseLeft -= length) < 0)
                    {
                        stream.Reset(StreamResetReason.BackendProtocol);
                        return ResponseEnd.Malformed;
                    }

                    request.BytesSent += length;
                    request.Capture?.OnResponseBody(item.Memory.Span);
                    var isThere = true;
                    if (length >= SendAt)
                    {
                        unflushed = 0;
                        isThere = await request.WaitFor(exchange, exchange.SendBodyAsync(item.Memory)).ConfigureAwait(false);
                    }
                    else
                    {
                        exchange.WriteBody(item.Memory.Span);
                        unflushed += length;
                    }

                    stream.ConsumeData(length);
                    if (isThere && item.IsLast)
                    {
                        return await FinishAsync(exchange, request, unflushed).ConfigureAwait(false);
                    }

                    // Step 9: a flush when no more data is at hand, or when 64 KiB are gathered.
                    if (isThere && unflushed >= FlushAt)
                    {
                        unflushed = 0;
                        isThere = await request.WaitFor(exchange, exchange.FlushAsync()).ConfigureAwait(false);
                    }

                    if (!isThere)
                    {
                        stream.Reset(StreamResetReason.Cancel, exchange.LeftDetail);
                        return ResponseEnd.VisitorLeft;
                    }

                    break;
                case StreamItemKind.Head:
                    OnTrailers(exchange, request, item);
                    stream.ConsumeHead();
                    return await FinishAsync(exchange, request, unflushed).ConfigureAwait(false);
                case StreamItemKind.End:
                    return await FinishAsync(exchange, request, unflushed).ConfigureAwait(false);
                default:
                    return exchange.VisitorLeft.IsCancellationRequested ? ResponseEnd.VisitorLeft : ResponseEnd.StreamFailed;
            }
        }
    }

    private static async ValueTask<ResponseEnd> FinishAsync(VisitorExchange exchange, ForwardedRequest request, int unflushed)
    {
        if (request.ResponseLeft > 0)
        {
            // Less than the declared length: no front may present it as a complete answer.
            return ResponseEnd.Malformed;
        }

        exchange.CompleteResponse();

        // Bytes of a response that has started leave only by a flush; a response that has not started is sent as a whole at its end.
        return unflushed == 0
            || !exchange.HasResponseStarted
            || await request.WaitFor(exchange, exchange.FlushAsync()).ConfigureAwait(false)
            ? ResponseEnd.Complete
            : ResponseEnd.VisitorLeft;
    }

    private HeadOutcome OnHead(
        VisitorExchange exchange, ForwardedRequest request, StreamItem item, int slot, out bool upgraded, ref bool isWebSocket)
    {
        upgraded = false;
        if (HeaderBlock.TryRead(item.Memory.Span, out var head) != ProtocolError.None || head.Kind != HeaderBlockKind.Response)
        {
            return HeadOutcome.Malformed;
        }

        if (head.IsInterim)
        {
            if (head.Status == StatusCodes.Status100Continue && request.Continue is { } turn)
            {
                turn.Release();
                return HeadOutcome.Interim;
            }

            return exchange.WriteInterim(head) ? HeadOutcome.InterimToSend : HeadOutcome.Interim;
        }

        upgraded = head.Status == StatusCodes.Status101SwitchingProtocols;
        if (upgraded && !exchange.IsUpgrade)
        {
            return HeadOutcome.Malformed;
        }

        var arrived = request.Times.Now();
        var isValid = ResponseFacts.TryRead(head, out var facts);
        if (request.IsCarried)
        {
            KeepErrorOfNode(exchange, request, head);
            if ((head.Flags & HeaderBlockFlags.Crossed) != 0)
            {
                request.CrossingLinks?.Add(slot);
            }
        }
        else
        {
            observers.Answered(exchange, request, facts, arrived);
        }

        https?.AddTo(exchange, request, head);
        if (!isValid || !exchange.TryStartResponse(head, facts.HasLength))
        {
            return HeadOutcome.Malformed;
        }

        isWebSocket = upgraded && WebSocketHandshake.IsAgreed(head);
        request.HeadArrived(head.Status, arrived);
        if (request.Capture is { } capture)
        {
            capture.OnResponseHead(HeadLines.Of(head), head.Status);
            if (upgraded)
            {
                capture.OnUpgraded();
            }
        }

        request.ResponseLeft = exchange.ResponseMayHaveBody ? facts.Length : ResponseFacts.NoLength;
        return HeadOutcome.Final;
    }

    /// <summary>
    /// No front passes fields that only Tunnel2 may set. That of an error is the other node's own: it has removed what a service set.
    /// </summary>
    private static void KeepErrorOfNode(VisitorExchange exchange, ForwardedRequest request, scoped in HeaderBlock head)
    {
        foreach (var field in head.Fields)
        {
            if (Ascii.EqualsIgnoreCase(field.Name, "Tunnel2-Error"u8) && FieldSyntax.IsFieldValue(field.Value))
            {
                request.UseExtras(exchange).AddResponseField("Tunnel2-Error"u8, field.Value);
                return;
            }
        }
    }

    private static void OnTrailers(VisitorExchange exchange, ForwardedRequest request, StreamItem item)
    {
        if (HeaderBlock.TryRead(item.Memory.Span, out var trailers) == ProtocolError.None)
        {
            request.Capture?.OnResponseTrailers(item.Memory.Span);
            exchange.SendTrailers(trailers);
        }
    }

    private enum HeadOutcome
    {
        Interim,
        InterimToSend,
        Final,
        Malformed,
    }
}
