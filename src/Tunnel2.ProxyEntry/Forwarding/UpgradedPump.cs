using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Forwarding.WebSockets;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>
/// Moves raw bytes both ways after a 101. Each direction ends by itself; a silent connection holds no buffer of ours (empty read, then rent).
/// </summary>
internal static class UpgradedPump
{
    private const int BufferSize = 16 * 1024;

    /// <summary>Requests to close come once or twice; a read that is cancelled again and again is broken.</summary>
    private const int MaxInterruptions = 4;

    /// <summary>Runs until both directions have ended.</summary>
    /// <param name="exchange">The visitor's exchange.</param>
    /// <param name="request">Its state.</param>
    /// <param name="stream">The tunnel's stream.</param>
    /// <param name="isWebSocket">Whether the backend agreed on WebSocket, so that it may be ended in order when the session is about to end.</param>
    public static async ValueTask<ResponseEnd> RunAsync(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream, bool isWebSocket)
    {
        request.Phase = ForwardPhase.Upgraded;
        var connection = await exchange.UpgradeAsync().ConfigureAwait(false);
        using var leave = new CancellationTokenSource();
        var inbound = FromVisitorAsync(connection, request, stream, leave.Token);
        bool complete;
        await using (var goodbye = isWebSocket ? new WebSocketGoodbye(connection, request.SessionLeaving) : null)
        {
            complete = await ToVisitorAsync(connection, request, stream, goodbye).ConfigureAwait(false);
        }

        if (!complete)
        {
            // Cut short: the visitor must not take it for an orderly end.
            stream.Reset(StreamResetReason.Cancel);
            exchange.Abort();
        }
        else
        {
            // The backend has said its last word, and HttpContext has no way to say only that: ending the request closes both directions.
            stream.Reset(StreamResetReason.None);
        }

        // The stream is another request's as soon as we return: whoever still waits for the visitor must have left it by then.
        await leave.CancelAsync().ConfigureAwait(false);
        await inbound.ConfigureAwait(false);
        return ResponseEnd.Upgraded;
    }

    private static async Task FromVisitorAsync(Stream connection, ForwardedRequest request, TunnelStream stream, CancellationToken leave)
    {
        var buffers = stream.Uplink.Settings.Buffers;
        byte[]? buffer = null;
        var interruptions = 0;
        try
        {
            while (true)
            {
                int received;
                try
                {
                    await connection.ReadAsync(Memory<byte>.Empty, leave).ConfigureAwait(false);
                    buffer ??= buffers.Rent(BufferSize);
                    received = await connection.ReadAsync(buffer, leave).ConfigureAwait(false);
                }
                catch (OperationCanceledException) when (!leave.IsCancellationRequested && interruptions++ < MaxInterruptions)
                {
                    // Kestrel asks its connections to close by cancelling what they read. This one ends when its two sides want it to.
                    continue;
                }

                request.BytesReceived += received;
                var status = await stream.WriteAsync(buffer.AsMemory(0, received), end: received == 0).ConfigureAwait(false);
                buffers.Return(buffer);
                buffer = null;
                if (received == 0 || status != StreamSendStatus.Sent)
                {
                    return;
                }
            }
        }
        catch (Exception)
        {
            // The visitor left: the backend learns it as a cut, not as an end.
            stream.Reset(StreamResetReason.Cancel);
        }
        finally
        {
            if (buffer is not null)
            {
                buffers.Return(buffer);
            }
        }
    }

    private static async Task<bool> ToVisitorAsync(Stream connection, ForwardedRequest request, TunnelStream stream, WebSocketGoodbye? goodbye)
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

                switch (item.Kind)
                {
                    case StreamItemKind.Data:
                        var mayGo = goodbye?.BeginWrite(item.Memory.Span) ?? item.Memory.Length;
                        if (mayGo > 0)
                        {
                            await connection.WriteAsync(item.Memory[..mayGo]).ConfigureAwait(false);
                            await connection.FlushAsync().ConfigureAwait(false);
                        }

                        if (goodbye is not null)
                        {
                            await goodbye.EndWriteAsync().ConfigureAwait(false);
                        }

                        request.BytesSent += item.Memory.Length;
                        stream.ConsumeData(item.Memory.Length);
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
