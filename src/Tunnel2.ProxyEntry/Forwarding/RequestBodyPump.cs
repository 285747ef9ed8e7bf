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
        while (true)
        {
            var read = await body.ReadAsync().ConfigureAwait(false);
            if (read.IsCanceled)
            {
                // Handed back unread: the front still has to drain the body. A cancellation that was meant for an earlier stream of the
                // request is passed over.
                body.AdvanceTo(read.Buffer.Start);
                if (request.IsBodyUnwanted)
                {
                    return;
                }

                continue;
            }

            request.Touch();
            var buffer = read.Buffer;
            var status = await WriteAsync(stream, buffer, read.IsCompleted).ConfigureAwait(false);
            request.BytesReceived += buffer.Length;
            request.Touch();
            if (!request.IsBodyTaken && (status != StreamSendStatus.Sent || read.IsCompleted))
            {
                // The whole of the body so far is in this one buffer. It stays there until the exchange is over: another stream may need it.
                request.KeptBody = buffer.Length;
                body.AdvanceTo(buffer.Start);
            }
            else
            {
                request.IsBodyTaken = true;
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
