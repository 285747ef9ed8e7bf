using System.Buffers;
using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Forwarding;

/// <summary>Moves a visitor's body into the stream. What the stream has no credit for is not read, so that the visitor is held up, not we filled.</summary>
internal static class RequestBodyPump
{
    /// <summary>A visitor that expects a 100 gets it after this long, when the backend does not care to answer: as any client would go on.</summary>
    private static readonly TimeSpan _continueAnyway = TimeSpan.FromSeconds(1);

    /// <summary>
    /// The first bytes of a body stay in the visitor's pipe until the response begins: should the stream be refused, another one gets them.
    /// </summary>
    private const int KeepLimit = 16 * 1024;

    /// <summary>Runs until the body has ended, failed or is not wanted any more. Never throws.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public static async ValueTask RunAsync(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream, TimeProvider timeProvider)
    {
        try
        {
            if (request.Continue is { } turn)
            {
                await Task.WhenAny(turn.MayRead, Task.Delay(_continueAnyway, timeProvider)).ConfigureAwait(false);
                if (request.IsBodyUnwanted || !await turn.TryContinueAsync(exchange).ConfigureAwait(false))
                {
                    // The final answer came first, or the stream has failed: the body is not wanted.
                    return;
                }

                request.HasContinued = true;
            }

            await CopyAsync(exchange, request, stream).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            // The visitor left, or broke its body's framing: the backend must never take what came for the whole.
            if (exception is BadHttpRequestException broken && exchange.CanAnswerBrokenBody && !exchange.VisitorLeft.IsCancellationRequested)
            {
                request.Cut(request.Use, broken.StatusCode == StatusCodes.Status413PayloadTooLarge ? ProxyError.RequestBodyTooLarge : null, StreamResetReason.VisitorProtocol);
                return;
            }

            stream.Reset(StreamResetReason.Cancel);
            exchange.Abort();
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private static async ValueTask CopyAsync(VisitorExchange exchange, ForwardedRequest request, TunnelStream stream)
    {
        var body = exchange.RequestBody;
        long kept = 0; // bytes at the start of the pipe that have been sent already
        while (true)
        {
            var read = await body.ReadAsync().ConfigureAwait(false);
            var buffer = read.Buffer;
            if (read.IsCanceled)
            {
                // Handed back unread: the front still has to drain the body. A cancellation that was meant for an earlier stream of the
                // request is passed over.
                body.AdvanceTo(buffer.Start);
                if (request.IsBodyUnwanted)
                {
                    return;
                }

                continue;
            }

            request.Touch();
            var hasTrailers = read.IsCompleted && exchange.HasRequestTrailers;
            var status = await WriteAsync(stream, buffer.Slice(kept), read.IsCompleted && !hasTrailers).ConfigureAwait(false);
            request.BytesReceived += buffer.Length - kept;
            request.Touch();
            if (!request.IsBodyTaken && (status != StreamSendStatus.Sent || (buffer.Length <= KeepLimit && request.Status == 0)))
            {
                kept = buffer.Length;
                request.KeptBody = kept;
                body.AdvanceTo(buffer.Start, buffer.End);
            }
            else
            {
                request.IsBodyTaken = true;
                kept = 0;
                request.KeptBody = 0;
                body.AdvanceTo(buffer.End);
            }

            if (status != StreamSendStatus.Sent)
            {
                return;
            }

            if (read.IsCompleted)
            {
                if (hasTrailers)
                {
                    SendTrailers(exchange, stream);
                }

                request.RequestSent();
                return;
            }
        }
    }

    /// <summary>The exchange is over, and with it the need for what was kept of its body. Never throws.</summary>
    public static void DropKept(VisitorExchange exchange, ForwardedRequest request)
    {
        if (request.KeptBody == 0)
        {
            return;
        }

        try
        {
            if (exchange.RequestBody.TryRead(out var read))
            {
                exchange.RequestBody.AdvanceTo(read.Buffer.GetPosition(Math.Min(request.KeptBody, read.Buffer.Length)));
            }
        }
        catch (Exception)
        {
            // The visitor has left, and its body with it.
        }
    }

    private static void SendTrailers(VisitorExchange exchange, TunnelStream stream)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(ProtocolLimits.MaxHeaderBlockLength));
        writer.BeginTrailers();
        exchange.WriteRequestTrailers(ref writer);
        var length = writer.Complete();
        if (writer.Overflowed || writer.HasTooManyFields)
        {
            stream.Reset(StreamResetReason.VisitorProtocol);
            return;
        }

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
