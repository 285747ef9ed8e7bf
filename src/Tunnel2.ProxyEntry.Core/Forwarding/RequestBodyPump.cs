using System.Buffers;
using System.Runtime.CompilerServices;
using Tunnel2.Inspection.Capture;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>
/// Moves a visitor's body into the stream. It reads only what the stream has credit for, so the visitor waits and our memory does not fill.
/// </summary>
internal static class RequestBodyPump
{
    /// <summary>
    /// A visitor that expects a 100 gets one after this time if the backend sends none: any client would send its body then.
    /// </summary>
    private static readonly TimeSpan _continueAnyway = TimeSpan.FromSeconds(1);

    /// <summary>Runs until the body has ended, has failed or is no longer wanted. Never throws.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public static async ValueTask RunAsync(
        VisitorExchange exchange, ForwardedRequest request, TunnelStream stream, TimeProvider timeProvider)
    {
        try
        {
            if (request.Continue is { } turn)
            {
                await Task.WhenAny(turn.MayRead, Task.Delay(_continueAnyway, timeProvider)).ConfigureAwait(false);
                if (request.IsBodyUnwanted || !await turn.TryContinueAsync(exchange).ConfigureAwait(false))
                {
                    // The final answer came first, or the stream has failed, so the body is not wanted.
                    return;
                }

                request.HasContinued = true;
            }

            await CopyAsync(exchange, request, stream).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            // The visitor left, or broke its body's framing. The backend must not take the bytes so far for the whole body.
            if (exception is BadHttpRequestException broken
                && exchange.CanAnswerBrokenBody
                && !exchange.VisitorLeft.IsCancellationRequested)
            {
                request.Cut(
                    request.Use,
                    broken.StatusCode == StatusCodes.Status413PayloadTooLarge ? ProxyError.RequestBodyTooLarge : null,
                    StreamResetReason.VisitorProtocol);
                return;
            }

            stream.Reset(StreamResetReason.Cancel, exchange.LeftDetail);
            exchange.Abort();
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private static async ValueTask CopyAsync(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream)
    {
        if (request.Held is { } held)
        {
            await SendHeldAsync(exchange, request, stream, held).ConfigureAwait(false);
            return;
        }

        var body = exchange.RequestBody;
        var kept = request.Kept;
        if (kept.Length > 0 && await stream.WriteAsync(kept.Bytes, end: false).ConfigureAwait(false) != StreamSendStatus.Sent)
        {
            return;
        }

        request.BytesReceived = kept.Length;
        while (true)
        {
            request.WaitsForBody = true;
            var read = await body.ReadAsync().ConfigureAwait(false);
            request.WaitsForBody = false;
            var buffer = read.Buffer;
            if (read.IsCanceled)
            {
                // Returned unread, because the front still has to drain the body. A cancellation that was meant for an earlier stream of
                // the request is ignored.
                body.AdvanceTo(buffer.Start);
                if (request.IsBodyUnwanted)
                {
                    return;
                }

                continue;
            }

            request.Touch();
            if (buffer.Length > request.BodyLimit - request.BytesReceived)
            {
                body.AdvanceTo(buffer.Start);
                request.Cut(request.Use, ProxyError.RequestBodyTooLarge, StreamResetReason.VisitorProtocol);
                return;
            }

            var keeps = !request.IsBodyTaken && request.Status == 0 && kept.TryAdd(buffer, stream.Uplink.Settings.Buffers);
            var hasTrailers = read.IsCompleted && exchange.HasRequestTrailers;
            var status = await WriteAsync(stream, buffer, read.IsCompleted && !hasTrailers).ConfigureAwait(false);
            request.Touch();
            if (!keeps && !request.IsBodyTaken)
            {
                if (status != StreamSendStatus.Sent)
                {
                    // Too much to keep, but none of it was sent: another stream can read it from the visitor's pipe.
                    body.AdvanceTo(buffer.Start);
                    return;
                }

                request.IsBodyTaken = true;
                kept.Drop();
            }

            request.BytesReceived += buffer.Length;
            if (request.Capture is { } capture)
            {
                Keep(capture, buffer);
            }

            body.AdvanceTo(buffer.End);
            if (status != StreamSendStatus.Sent)
            {
                return;
            }

            if (read.IsCompleted)
            {
                if (hasTrailers)
                {
                    SendTrailers(exchange, request, stream);
                }

                request.RequestSent();
                request.Capture?.OnRequestEnded();
                return;
            }
        }
    }

    /// <summary>Sends a body that was read before. It stays held: another stream can send it again.</summary>
    private static async ValueTask SendHeldAsync(
        VisitorExchange exchange, ForwardedRequest request, TunnelStream stream, HeldBody held)
    {
        var hasTrailers = exchange.HasRequestTrailers;
        request.BytesReceived = held.Length;
        for (var i = 0; i < held.Count; i++)
        {
            request.Touch();
            request.Capture?.OnRequestBody(held[i].Span);
            if (await stream.WriteAsync(held[i], end: false).ConfigureAwait(false) != StreamSendStatus.Sent)
            {
                return;
            }
        }

        if (hasTrailers)
        {
            SendTrailers(exchange, request, stream);
        }
        else if (await stream.WriteAsync(default, end: true).ConfigureAwait(false) != StreamSendStatus.Sent)
        {
            return;
        }

        request.RequestSent();
        request.Capture?.OnRequestEnded();
    }

    private static void Keep(ExchangeCapture capture, in ReadOnlySequence<byte> buffer)
    {
        foreach (var piece in buffer)
        {
            capture.OnRequestBody(piece.Span);
        }
    }

    private static void SendTrailers(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream)
    {
        var block = stream.BeginHead(ProtocolLimits.MaxHeaderBlockLength);
        var writer = new HeaderBlockWriter(block);
        writer.BeginTrailers();
        var isValid = exchange.TryWriteRequestTrailers(ref writer);
        var length = writer.Complete();
        if (!isValid || writer.Overflowed || writer.HasTooManyFields)
        {
            request.Cut(request.Use, null, StreamResetReason.VisitorProtocol);
            return;
        }

        request.Capture?.OnRequestTrailers(block[..length]);
        stream.EndHead(length, default, end: true, out _);
    }

    private static async ValueTask<StreamSendStatus> WriteAsync(TunnelStream stream, ReadOnlySequence<byte> buffer, bool end)
    {
        if (buffer.IsSingleSegment)
        {
            return await stream.WriteAsync(buffer.First, end).ConfigureAwait(false);
        }

        var left = buffer.Length;
        foreach (var segment in buffer)
        {
            left -= segment.Length;
            var status = await stream.WriteAsync(segment, end && left == 0).ConfigureAwait(false);
            if (status != StreamSendStatus.Sent)
            {
                return status;
            }
        }

        return StreamSendStatus.Sent;
    }
}
