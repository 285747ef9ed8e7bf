using System.Runtime.CompilerServices;
using Tunnel2.Client.Core.Http2;
using Tunnel2.Http1;
using Tunnel2.Http2.Frames;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Moves a request's body from its stream to a service that speaks HTTP/2. Credit returns to the visitor when the service's windows have
/// let the bytes leave.
/// </summary>
internal static class Http2RequestPump
{
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<RequestPumpEnd> RunAsync(
        TunnelStream stream, Http2Stream service, RequestPlan plan, BufferPool buffers, ExchangeCounters counters)
    {
        var id = service.Id;
        var remaining = plan.Framing == RequestFraming.Length ? plan.ContentLength : -1;
        while (true)
        {
            await stream.WaitToReadAsync().ConfigureAwait(false);
            stream.TryRead(out var item);
            switch (item.Kind)
            {
                case StreamItemKind.Data:
                    var length = item.Memory.Length;
                    if (remaining >= 0 && (length > remaining || (item.IsLast && length != remaining)))
                    {
                        return CutOff(stream, service, id);
                    }

                    counters.Capture?.OnRequestBody(item.Memory.Span);
                    if (!await service.WriteAsync(item.Memory, item.IsLast).ConfigureAwait(false))
                    {
                        return RequestPumpEnd.BackendClosed;
                    }

                    remaining -= remaining < 0 ? 0 : length;
                    counters.RequestBytes += length;
                    var isLast = item.IsLast;
                    stream.ConsumeData(length);
                    if (isLast)
                    {
                        counters.Capture?.OnRequestEnded();
                        return RequestPumpEnd.Complete;
                    }

                    break;
                case StreamItemKind.Head:
                    if (remaining > 0 || !TrySendTrailers(item.Memory.Span, service, buffers, out var isTaken))
                    {
                        return CutOff(stream, service, id);
                    }

                    counters.Capture?.OnRequestTrailers(item.Memory.Span);
                    stream.ConsumeHead();
                    counters.Capture?.OnRequestEnded();
                    return isTaken ? RequestPumpEnd.Complete : RequestPumpEnd.BackendClosed;
                case StreamItemKind.End:
                    if (remaining > 0)
                    {
                        return CutOff(stream, service, id);
                    }

                    counters.Capture?.OnRequestEnded();
                    return await service.WriteAsync(default, end: true).ConfigureAwait(false)
                        ? RequestPumpEnd.Complete
                        : RequestPumpEnd.BackendClosed;
                default:
                    service.Cancel(id, stream.VisitorCode());
                    return RequestPumpEnd.VisitorFailed;
            }
        }
    }

    /// <summary>The body is not what was declared, or trailers break the rule: the service must never take it for complete.</summary>
    private static RequestPumpEnd CutOff(TunnelStream stream, Http2Stream service, int id)
    {
        stream.Reset(StreamResetReason.VisitorProtocol);
        service.Cancel(id, Http2ErrorCode.Cancel);
        return RequestPumpEnd.VisitorFailed;
    }

    private static bool TrySendTrailers(ReadOnlySpan<byte> blockBytes, Http2Stream service, BufferPool buffers, out bool isTaken)
    {
        isTaken = false;
        if (HeaderBlock.TryRead(blockBytes, out var block) != ProtocolError.None)
        {
            return false;
        }

        var buffer = buffers.Rent(blockBytes.Length + (block.Fields.Count * 8) + 16);
        try
        {
            if (Http2RequestEncoder.WriteTrailers(block, buffer, out var length) != HeadWriteStatus.Ok)
            {
                return false;
            }

            isTaken = service.TrySendTrailers(buffer.AsSpan(0, length));
            return true;
        }
        finally
        {
            buffers.Return(buffer);
        }
    }
}
