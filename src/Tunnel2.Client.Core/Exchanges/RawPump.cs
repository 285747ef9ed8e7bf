using Tunnel2.Client.Core.Backend;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Moves raw bytes between a stream and the backend. Such connections live long and are mostly silent, so the way from the backend waits
/// with an empty read and holds a buffer only while there is something to move. What the visitor does not take stays with the service.
/// </summary>
internal static class RawPump
{
    private const int BufferSize = 16 * 1024;

    /// <summary>After a read that filled its buffer.</summary>
    private const int BulkBuffer = 128 * 1024;

    /// <summary>Moves bytes both ways until both directions have ended. A break of one is a break of both.</summary>
    /// <param name="stream">The stream; a response's head is in it.</param>
    /// <param name="connection">The connection.</param>
    /// <param name="buffers">Where the way to the backend rents its buffers.</param>
    /// <param name="counters">Where bytes are counted.</param>
    /// <param name="first">What came with the head: it is counted, but not in the stream yet.</param>
    /// <param name="byReset">Whether a break ends the connection by a reset; see <see cref="BackendConnection.Discard"/>.</param>
    public static async ValueTask<(ResponseBodyEnd End, RequestPumpEnd Sent)> RunBothWaysAsync(
        TunnelStream stream, BackendConnection connection, BufferPool buffers, ExchangeCounters counters, ReadOnlyMemory<byte> first,
        bool byReset)
    {
        var toBackend = SendAsync(stream, connection, buffers, counters, byReset).Preserve();
        var end = new ResponseBodyEnd(new BackendFailure(StreamResetReason.Internal, StreamResetDetail.None), false, 0);
        try
        {
            if (!first.IsEmpty)
            {
                await stream.WriteAsync(first, end: false).ConfigureAwait(false);
            }

            connection.ReturnBuffer();
            end = await RunAsync(stream, connection, counters).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A fault of ours: the other way is made to end below, before anything is let go of.
        }

        if (!end.IsComplete)
        {
            connection.Break(byReset);
            stream.ResetAfterHead(end.Failure.IsNone ? StreamResetReason.Cancel : end.Failure.Reason, end.Failure.Detail);
        }

        return (end, await toBackend.ConfigureAwait(false));
    }

    private static async ValueTask<RequestPumpEnd> SendAsync(
        TunnelStream stream, BackendConnection connection, BufferPool buffers, ExchangeCounters counters, bool byReset)
    {
        var sent = await RequestPump.RunAsync(stream, connection.Transport, RequestFraming.Raw, 0, buffers, counters).ConfigureAwait(false);
        if (byReset && sent == RequestPumpEnd.VisitorFailed)
        {
            // After the bytes before it: the end of the other direction does not wait for them.
            connection.Break(byReset: true);
        }

        return sent;
    }

    private static async ValueTask<ResponseBodyEnd> RunAsync(TunnelStream stream, BackendConnection connection, ExchangeCounters counters)
    {
        try
        {
            var size = BufferSize;
            while (true)
            {
                await connection.Transport.ReceiveAsync(Memory<byte>.Empty).ConfigureAwait(false);
                if (await stream.WaitForRoomAsync().ConfigureAwait(false) != StreamSendStatus.Sent)
                {
                    return ResponseBodyEnd.NoReaderLeft;
                }

                var buffer = connection.RentBuffer(size);
                var room = (int)Math.Min(stream.SendRoom, buffer.Length);
                var received = await connection.Transport.ReceiveAsync(buffer.AsMemory(0, room)).ConfigureAwait(false);
                if (received == 0)
                {
                    await stream.WriteAsync(default, end: true).ConfigureAwait(false);
                    return ResponseBodyEnd.Complete(0);
                }

                counters.ResponseBytes += received;
                counters.Capture?.OnResponseBody(buffer.AsSpan(0, received));
                if (await stream.WriteAsync(buffer.AsMemory(0, received), end: false).ConfigureAwait(false) != StreamSendStatus.Sent)
                {
                    return ResponseBodyEnd.NoReaderLeft;
                }

                size = received == buffer.Length ? BulkBuffer : received == room ? size : BufferSize;
                connection.ReturnBuffer();
            }
        }
        catch (IOException)
        {
            return stream.Failure.IsNone ? ResponseBodyEnd.Failed(StreamResetDetail.ClosedInBody) : ResponseBodyEnd.NoReaderLeft;
        }
    }
}
