using System.Runtime.CompilerServices;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Http2;
using Tunnel2.Http1;
using Tunnel2.Http2.Frames;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Heads;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>How a response of a service that speaks HTTP/2 ended.</summary>
/// <param name="Failure">What the service did wrong, or none.</param>
/// <param name="IsComplete">Whether the whole response is in the stream.</param>
/// <param name="IsUntouched">Whether the service has certainly done nothing with the request.</param>
/// <param name="NothingCame">Whether not even an interim response came.</param>
internal readonly record struct Http2ResponseEnd(BackendFailure Failure, bool IsComplete, bool IsUntouched, bool NothingCame);

/// <summary>
/// Moves a response from an HTTP/2 service into its stream, each piece as it comes: interim heads, the head with the first body bytes, the
/// body and the trailers. What the visitor does not take stays with the service, except one window.
/// </summary>
internal static class Http2ResponsePump
{
    /// <summary>A visitor whose side has less room than this does not keep up: the service's window does not grow.</summary>
    private const int StalledRoom = 16 * 1024;

    /// <summary>For the fields that a head gets here.</summary>
    private const int HeadExtra = 256;

    /// <summary>Runs until the response is in the stream whole, or has failed.</summary>
    /// <param name="stream">The exchange's stream.</param>
    /// <param name="service">The request at the service.</param>
    /// <param name="accept">For a WebSocket: the proof for the visitor that its key was read; otherwise null.</param>
    /// <param name="counters">Where status and bytes are counted.</param>
    /// <param name="timing">What the exchange took, for those who asked.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<Http2ResponseEnd> RunAsync(
        TunnelStream stream, Http2Stream service, byte[]? accept, ExchangeCounters counters, ExchangeTiming timing)
    {
        var hasHead = false;
        var nothingCame = true;
        while (true)
        {
            await service.WaitToReadAsync().ConfigureAwait(false);
            if (!service.TryRead(out var item))
            {
                continue;
            }

            StreamSendStatus sent;
            switch (item.Kind)
            {
                case Http2ItemKind.Head:
                    nothingCame = false;
                    timing.MarkHead();
                    if (!TrySendHead(stream, service, item, accept, counters, timing, out hasHead, out var isOver, out sent))
                    {
                        return Failed(BackendFailure.Protocol(StreamResetDetail.HeadTooLarge));
                    }

                    if (isOver)
                    {
                        return Complete(sent);
                    }

                    break;
                case Http2ItemKind.Data:
                    counters.Capture?.OnResponseBody(item.Memory.Span);
                    sent = await stream.WriteAsync(item.Memory, item.IsLast).ConfigureAwait(false);
                    counters.ResponseBytes += item.Memory.Length;
                    if (item.IsLast)
                    {
                        return Complete(sent);
                    }

                    service.ConsumeData(item.Memory.Length, stream.SendRoom > StalledRoom);
                    break;
                case Http2ItemKind.Trailers:
                    counters.Capture?.OnResponseTrailers(item.Memory.Span);
                    item.Memory.Span.CopyTo(stream.BeginHead(item.Memory.Length));
                    return Complete(stream.EndHead(item.Memory.Length, default, end: true, out _));
                case Http2ItemKind.End:
                    return Complete(await stream.WriteAsync(default, end: true).ConfigureAwait(false));
                default:
                    return Failed(service.Failure, hasHead, nothingCame);
            }

            if (sent != StreamSendStatus.Sent)
            {
                return Complete(sent);
            }
        }
    }

    private static Http2ResponseEnd Complete(StreamSendStatus sent) =>
        new(BackendFailure.None, sent == StreamSendStatus.Sent, IsUntouched: false, NothingCame: false);

    private static Http2ResponseEnd Failed(BackendFailure failure) => new(failure, false, false, false);

    private static Http2ResponseEnd Failed(Http2Failure failure, bool hasHead, bool nothingCame)
    {
        var broken = hasHead ? StreamResetDetail.MalformedBody : StreamResetDetail.MalformedHead;
        var ended = hasHead ? StreamResetDetail.ClosedInBody : StreamResetDetail.ClosedBeforeResponse;
        var (reason, detail) = failure.Kind switch
        {
            Http2FailureKind.Refused => (StreamResetReason.Refused, StreamResetDetails.OfHttp2((uint)Http2ErrorCode.RefusedStream)),
            Http2FailureKind.Reset when failure.Code == Http2ErrorCode.NoError => (StreamResetReason.BackendProtocol, ended),

            // A code for one connection, which is the agent's own: for the visitor it would say that HTTP/1.1 helps.
            Http2FailureKind.Reset when failure.Code == Http2ErrorCode.Http11Required => (StreamResetReason.BackendProtocol, broken),
            Http2FailureKind.Reset => (StreamResetReason.BackendProtocol, StreamResetDetails.OfHttp2((uint)failure.Code)),
            Http2FailureKind.Malformed or Http2FailureKind.ConnectionBroken => (StreamResetReason.BackendProtocol, broken),
            Http2FailureKind.TooLarge => (StreamResetReason.BackendProtocol, StreamResetDetail.HeadTooLarge),
            Http2FailureKind.Cancelled => (StreamResetReason.Cancel, StreamResetDetail.None),
            _ => (StreamResetReason.BackendProtocol, ended),
        };
        return new Http2ResponseEnd(
            new BackendFailure(reason, detail),
            IsComplete: false,
            failure.Kind == Http2FailureKind.Refused,
            nothingCame && failure.Kind == Http2FailureKind.ConnectionLost);
    }

    /// <summary>Sends a head; a final one together with the first body bytes that are at hand.</summary>
    /// <returns>False when it is too large for the wire.</returns>
    private static bool TrySendHead(
        TunnelStream stream, Http2Stream service, Http2Item item, byte[]? accept, ExchangeCounters counters, ExchangeTiming timing,
        out bool isFinal, out bool isOver, out StreamSendStatus sent)
    {
        HeaderBlock.TryRead(item.Memory.Span, out var block);
        isFinal = !block.IsInterim;
        isOver = false;
        sent = StreamSendStatus.LocalReset;
        var switches = accept is not null && block.Status == 200;
        var status = switches ? 101 : block.Status;
        var writer = new HeaderBlockWriter(
            stream.BeginHead(Math.Min(ProtocolLimits.MaxHeaderBlockLength, item.Memory.Length + HeadExtra)));
        writer.BeginResponse(switches ? HeaderBlockFlags.Upgrade : HeaderBlockFlags.None, status, ReasonPhrases.Of(status));
        if (switches)
        {
            writer.AddField("Upgrade"u8, "websocket"u8);
            writer.AddField("Sec-WebSocket-Accept"u8, accept);
        }

        foreach (var field in block.Fields)
        {
            // The service has not seen the visitor's key.
            if (!switches || KnownFields.Classify(field.Name) != KnownField.SecWebSocketAccept)
            {
                writer.AddField(field.Name, field.Value);
            }
        }

        if (isFinal)
        {
            counters.StatusCode = status;
            timing.Write(ref writer);
            if (counters.Capture is { } capture)
            {
                Show(capture, block, switches);
            }
        }

        var length = writer.Complete();
        if (writer.Overflowed || writer.HasTooManyFields)
        {
            return false;
        }

        service.ConsumeBlock();
        isOver = item.IsLast;
        if (!isFinal || isOver || !service.TryRead(out var next) || next.Kind != Http2ItemKind.Data)
        {
            sent = stream.EndHead(length, default, isOver, out _);
            return true;
        }

        sent = stream.EndHead(length, next.Memory.Span, next.IsLast, out var taken);
        counters.Capture?.OnResponseBody(next.Memory.Span[..taken]);
        counters.ResponseBytes += taken;
        isOver = next.IsLast && taken == next.Memory.Length;
        if (!isOver && taken > 0)
        {
            service.ConsumeData(taken, mayGrow: true);
        }

        return true;
    }

    private static void Show(ExchangeCapture capture, HeaderBlock head, bool switches)
    {
        byte[] lines = HeadLines.Of(head);
        if (!switches)
        {
            capture.OnResponseHead(lines, head.Status);
            return;
        }

        // The inspector knows upgrades as the visitor's side of them: 101 and what was agreed.
        var fields = lines.AsSpan(lines.AsSpan().IndexOf((byte)'\n') + 1);
        capture.OnResponseHead([.. "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"u8, .. fields], 101);
        capture.OnUpgraded();
    }
}
