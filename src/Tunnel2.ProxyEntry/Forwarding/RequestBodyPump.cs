using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

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
            if (request.MayReadBody is { } mayRead)
            {
                await Task.WhenAny(mayRead.Task, Task.Delay(_continueAnyway, timeProvider)).ConfigureAwait(false);
                if (request.Status != 0 || request.IsBodyUnwanted)
                {
                    // The final answer came first, or the stream has failed: the body is not wanted.
                    return;
                }
            }

            await CopyAsync(exchange.RequestBody, request, stream).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            // The visitor left, or broke its body's framing: the backend must never take what came for the whole.
            if (exception is BadHttpRequestException && exchange.CanAnswerBrokenBody && !exchange.VisitorLeft.IsCancellationRequested)
            {
                stream.Reset(StreamResetReason.VisitorProtocol);
                return;
            }

            stream.Reset(StreamResetReason.Cancel);
            exchange.Abort();
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private static async ValueTask CopyAsync(PipeReader body, ForwardedRequest request, TunnelStream stream)
    {
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
            var status = await WriteAsync(stream, buffer.Slice(kept), read.IsCompleted).ConfigureAwait(false);
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
