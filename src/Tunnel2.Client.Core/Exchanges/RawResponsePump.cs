using Tunnel2.Client.Core.Backend;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Moves raw bytes of an upgraded exchange from the backend to its stream. Such connections live long and are mostly silent, so it waits
/// with an empty read and holds a buffer only while there is something to move.
/// </summary>
internal static class RawResponsePump
{
    private const int BufferSize = 16 * 1024;

    public static async ValueTask<ResponseBodyEnd> RunAsync(TunnelStream stream, BackendConnection connection, ExchangeCounters counters)
    {
        try
        {
            while (true)
            {
                await connection.Transport.ReceiveAsync(Memory<byte>.Empty).ConfigureAwait(false);
                var buffer = connection.RentBuffer(BufferSize);
                var received = await connection.Transport.ReceiveAsync(buffer).ConfigureAwait(false);
                if (received == 0)
                {
                    await stream.WriteAsync(default, end: true).ConfigureAwait(false);
                    return ResponseBodyEnd.Complete(0);
                }

                counters.ResponseBytes += received;
                if (await stream.WriteAsync(buffer.AsMemory(0, received), end: false).ConfigureAwait(false) != StreamSendStatus.Sent)
                {
                    return ResponseBodyEnd.NobodyLeft;
                }

                connection.ReturnBuffer();
            }
        }
        catch (IOException)
        {
            return stream.Failure.IsNone ? ResponseBodyEnd.Failed(StreamResetDetail.ClosedInBody) : ResponseBodyEnd.NobodyLeft;
        }
    }
}
