using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.WebSockets;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>
/// Moves raw bytes both ways after a 101. The end of one direction does not end the other. A silent connection has no limit. After one
/// direction has ended, the other has the limit of bodies, because its peer may be gone. A connection without HTTP has its own limits.
/// </summary>
internal static class UpgradedPump
{
    /// <summary>A connection is asked to close once or twice; a read that is cancelled more often is broken.</summary>
    private const int MaxInterruptions = 4;

    /// <summary>Runs until both directions have ended.</summary>
    /// <param name="exchange">The visitor's exchange.</param>
    /// <param name="request">Its state.</param>
    /// <param name="stream">The tunnel's stream.</param>
    /// <param name="isWebSocket">
    /// Whether the backend agreed on WebSocket, so that it gets a Close frame when the session is about to end.
    /// </param>
    public static async ValueTask<ResponseEnd> RunAsync(
        VisitorExchange exchange, ForwardedRequest request, TunnelStream stream, bool isWebSocket)
    {
        request.Phase = ForwardPhase.Upgraded;
        var connection = await exchange.UpgradeAsync().ConfigureAwait(false);
        var inbound = FromVisitorAsync(connection.Input, request, stream);
        bool complete;
        await using (var goodbye = isWebSocket ? new WebSocketGoodbye(connection, request.SessionLeaving) : null)
        {
            complete = await ToVisitorAsync(exchange, connection, request, stream, goodbye).ConfigureAwait(false);
        }

        if (complete && await connection.EndSendAsync().ConfigureAwait(false))
        {
            // Only the visitor's direction is left. Code that cuts or loses the request must wake the wait for the visitor.
            request.BeginVisitorWait(exchange);
            HalfEnded(request);
            stream.NotifyReset(static (input, _) => ((PipeReader)input!).CancelPendingRead(), connection.Input);
        }
        else
        {
            // Cut, which must not look like an orderly end; or an end that the front can only do for both directions.
            stream.Reset(
                complete ? StreamResetReason.None : StreamResetReason.Cancel,
                complete ? StreamResetDetail.None : exchange.LeftDetail);
            connection.Input.CancelPendingRead();
            if (!complete)
            {
                exchange.ResetCode = stream.Failure.ResetCode();
                await request.WaitFor(exchange, CutAsync(exchange)).ConfigureAwait(false);
            }
        }

        // The stream serves another request as soon as this method returns, so the wait for the visitor must have ended before.
        await inbound.ConfigureAwait(false);
        if (exchange.IsRaw && !stream.Failure.IsNone)
        {
            // The other direction broke after this one had ended, and the visitor's system must report that as a break.
            exchange.Abort();
        }

        await connection.Input.CompleteAsync().ConfigureAwait(false);
        return ResponseEnd.Upgraded;
    }

    private static async ValueTask<bool> CutAsync(VisitorExchange exchange)
    {
        await exchange.CutAsync(isShort: false).ConfigureAwait(false);
        return true;
    }

    /// <summary>One direction has ended, and the limit of bodies applies to the other, or that of half a connection without HTTP.</summary>
    private static void HalfEnded(ForwardedRequest request)
    {
        if (request.OwnIdleLimit is not { } limit)
        {
            request.Phase = ForwardPhase.Body;
        }
        else if (request.HalfEndedLimit < limit)
        {
            request.OwnIdleLimit = request.HalfEndedLimit;
        }
    }

    private static async Task FromVisitorAsync(PipeReader input, ForwardedRequest request, TunnelStream stream)
    {
        var interruptions = 0;
        try
        {
            while (true)
            {
                ReadResult read;
                try
                {
                    read = await input.ReadAsync().ConfigureAwait(false);
                }
                catch (OperationCanceledException) when (interruptions++ < MaxInterruptions)
                {
                    // Kestrel asks connections to close by cancelling their reads. An upgraded connection ends when visitor or backend ends
                    // it.
                    continue;
                }

                if (read.IsCanceled)
                {
                    input.AdvanceTo(read.Buffer.Start);
                    return;
                }

                request.Touch();
                foreach (var piece in read.Buffer)
                {
                    request.BytesReceived += piece.Length;
                    request.Capture?.OnRequestBody(piece.Span);
                    if (await stream.WriteAsync(piece, end: false).ConfigureAwait(false) != StreamSendStatus.Sent)
                    {
                        input.AdvanceTo(read.Buffer.End);
                        return;
                    }
                }

                input.AdvanceTo(read.Buffer.End);
                request.Touch();
                if (read.IsCompleted)
                {
                    await stream.WriteAsync(default, end: true).ConfigureAwait(false);
                    HalfEnded(request);
                    return;
                }
            }
        }
        catch (Exception)
        {
            // The visitor left without an orderly end, so the backend gets a cut and not an end.
            stream.Reset(StreamResetReason.Cancel, request.Exchange?.LeftDetail ?? StreamResetDetail.None);
        }
    }

    private static async ValueTask<bool> ToVisitorAsync(
        VisitorExchange exchange, UpgradedConnection connection, ForwardedRequest request, TunnelStream stream, WebSocketGoodbye? goodbye)
    {
        try
        {
            while (true)
            {
                await stream.WaitToReadAsync().ConfigureAwait(false);
                if (!stream.TryRead(out var item))
                {
                    continue;
                }

                request.Touch();
                switch (item.Kind)
                {
                    case StreamItemKind.Data:
                        request.Capture?.OnResponseBody(item.Memory.Span);
                        var mayGo = goodbye?.BeginWrite(item.Memory.Span) ?? item.Memory.Length;
                        if (mayGo > 0
                            && !await request.WaitFor(exchange, connection.SendAsync(item.Memory[..mayGo])).ConfigureAwait(false))
                        {
                            return false;
                        }

                        if (goodbye is not null)
                        {
                            await goodbye.EndWriteAsync().ConfigureAwait(false);
                        }

                        request.BytesSent += item.Memory.Length;
                        stream.ConsumeData(item.Memory.Length);
                        request.Touch();
                        break;
                    case StreamItemKind.End:
                        return true;
                    default:
                        return false;
                }
            }
        }
        catch (Exception)
        {
            return false;
        }
    }
}
