using System.Runtime.CompilerServices;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Http1;
using Tunnel2.Inspection.Heads;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>How a response's body got into its stream.</summary>
/// <param name="Failure">What the backend did wrong, or none.</param>
/// <param name="StreamEnded">Whether the stream ended first: then nothing is left to reset.</param>
/// <param name="Leftover">Bytes that arrived after the body: the connection cannot be used again.</param>
internal readonly record struct ResponseBodyEnd(BackendFailure Failure, bool StreamEnded, int Leftover)
{
    public bool IsComplete => Failure.IsNone && !StreamEnded;

    public static ResponseBodyEnd Complete(int leftover) => new(BackendFailure.None, false, leftover);

    public static ResponseBodyEnd Failed(StreamResetDetail detail) => new(BackendFailure.Protocol(detail), false, 0);

    public static ResponseBodyEnd NoReaderLeft { get; } = new(BackendFailure.None, true, 0);
}

/// <summary>
/// Moves a response's body from the backend to its stream, each piece as it comes: what the backend wrote, the visitor sees, for any
/// content type. A body that is cut short never ends in order.
/// </summary>
internal static class ResponseBodyPump
{
    /// <summary>A body that fills its buffer continues with one of this size.</summary>
    private const int BulkBuffer = 128 * 1024;

    /// <summary>Moves a body of known length, or one that ends with the connection.</summary>
    /// <param name="stream">The stream; its head has been sent.</param>
    /// <param name="connection">The connection; its buffer is free to use.</param>
    /// <param name="remaining">Bytes still to come; negative: until the connection ends.</param>
    /// <param name="counters">Where bytes are counted.</param>
    /// <param name="ahead">Lets a large body read ahead of its credit.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<ResponseBodyEnd> RunPlainAsync(
        TunnelStream stream, BackendConnection connection, long remaining, ExchangeCounters counters, ReadAhead.Place ahead)
    {
        var untilClose = remaining < 0;
        var buffer = connection.Buffer!;
        while (true)
        {
            if (!ahead.IsTaken && stream.SendRoom == 0)
            {
                if (!await WaitForRoomAsync(stream, connection, 0).ConfigureAwait(false))
                {
                    return ResponseBodyEnd.NoReaderLeft;
                }

                buffer = connection.Buffer!;
            }

            int received;
            try
            {
                received = await connection.Transport.ReceiveAsync(
                    buffer.AsMemory(0, Room(stream, ahead, buffer.Length))).ConfigureAwait(false);
            }
            catch (IOException)
            {
                return ResponseBodyEnd.Failed(StreamResetDetail.ClosedInBody);
            }

            if (received == 0)
            {
                if (!untilClose)
                {
                    return ResponseBodyEnd.Failed(StreamResetDetail.ClosedInBody);
                }

                await stream.WriteAsync(default, end: true).ConfigureAwait(false);
                return ResponseBodyEnd.Complete(0);
            }

            var count = untilClose ? received : (int)Math.Min(received, remaining);
            remaining -= untilClose ? 0 : count;
            counters.ResponseBytes += count;
            counters.Capture?.OnResponseBody(buffer.AsSpan(0, count));
            if (await stream.WriteAsync(buffer.AsMemory(0, count), end: remaining == 0).ConfigureAwait(false) != StreamSendStatus.Sent)
            {
                return ResponseBodyEnd.NoReaderLeft;
            }

            if (remaining == 0)
            {
                return ResponseBodyEnd.Complete(received - count);
            }

            if (received == buffer.Length && buffer.Length < BulkBuffer)
            {
                buffer = connection.RentBuffer(BulkBuffer);
                ahead.TryTake();
            }
        }
    }

    /// <summary>Moves a chunked body.</summary>
    /// <param name="stream">The stream; its head has been sent.</param>
    /// <param name="connection">The connection; its buffer holds what arrived and was not decoded.</param>
    /// <param name="filled">How much that is, from the buffer's start.</param>
    /// <param name="decoder">The decoder, after what was decoded with the head.</param>
    /// <param name="counters">Where bytes are counted.</param>
    /// <param name="ahead">Lets a large body read ahead of its credit.</param>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<ResponseBodyEnd> RunChunkedAsync(
        TunnelStream stream,
        BackendConnection connection,
        int filled,
        ResponseChunks decoder,
        ExchangeCounters counters,
        ReadAhead.Place ahead)
    {
        var buffer = connection.Buffer!;
        while (true)
        {
            if (!ahead.IsTaken && stream.SendRoom == 0)
            {
                if (!await WaitForRoomAsync(stream, connection, filled).ConfigureAwait(false))
                {
                    return ResponseBodyEnd.NoReaderLeft;
                }

                buffer = connection.Buffer!;
            }

            int received;
            try
            {
                var room = Room(stream, ahead, buffer.Length - filled);
                received = await connection.Transport.ReceiveAsync(buffer.AsMemory(filled, room)).ConfigureAwait(false);
            }
            catch (IOException)
            {
                return ResponseBodyEnd.Failed(StreamResetDetail.ClosedInBody);
            }

            if (received == 0)
            {
                return ResponseBodyEnd.Failed(StreamResetDetail.ClosedInBody);
            }

            filled += received;
            var wasFull = filled == buffer.Length;
            var status = decoder.DecodeInPlace(buffer, 0, filled, out var bodyLength);
            counters.ResponseBytes += bodyLength;
            counters.Capture?.OnResponseBody(buffer.AsSpan(0, bodyLength));
            if (status == ChunkedStatus.Invalid)
            {
                // What was before the fault was the body's.
                await stream.WriteAsync(buffer.AsMemory(0, bodyLength), end: false).ConfigureAwait(false);
                return ResponseBodyEnd.Failed(StreamResetDetail.MalformedBody);
            }

            var done = status == ChunkedStatus.Done;
            var sent = await stream.WriteAsync(buffer.AsMemory(0, bodyLength), end: done && !decoder.HasTrailers).ConfigureAwait(false);
            if (sent == StreamSendStatus.Sent && done && decoder.HasTrailers)
            {
                counters.Capture?.OnResponseTrailers(TrailerBlock.Of(decoder.Trailers, decoder.TrailerBytes(buffer)));
                if (!ResponseHeadEncoder.TrySendTrailers(stream, decoder.Trailers, decoder.TrailerBytes(buffer), out sent))
                {
                    return ResponseBodyEnd.Failed(StreamResetDetail.MalformedBody);
                }
            }

            if (sent != StreamSendStatus.Sent)
            {
                return ResponseBodyEnd.NoReaderLeft;
            }

            if (done)
            {
                return ResponseBodyEnd.Complete(filled - decoder.Consumed);
            }

            // What is left over is an unfinished trailer section: to the front with it.
            var rest = filled - decoder.Consumed;
            buffer.AsSpan(decoder.Consumed, rest).CopyTo(buffer);
            filled = rest;
            if ((wasFull && buffer.Length < BulkBuffer) || filled == buffer.Length)
            {
                buffer = connection.GrowBuffer(filled, BulkBuffer);
                ahead.TryTake();
            }
        }
    }

    /// <summary>
    /// Waits until something may leave, with nothing held in that time: bytes that the visitor does not take stay with the service.
    /// </summary>
    /// <returns>Whether the visitor still wants them.</returns>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<bool> WaitForRoomAsync(TunnelStream stream, BackendConnection connection, int filled)
    {
        var length = connection.Buffer!.Length;
        if (filled == 0)
        {
            connection.ReturnBuffer();
        }

        if (await stream.WaitForRoomAsync().ConfigureAwait(false) != StreamSendStatus.Sent)
        {
            return false;
        }

        connection.RentBuffer(length);
        return true;
    }

    /// <summary>How much is received: what may leave now, or what there is room for.</summary>
    private static int Room(TunnelStream stream, ReadAhead.Place ahead, int free) =>
        ahead.IsTaken ? free : (int)Math.Min(stream.SendRoom, free);
}
