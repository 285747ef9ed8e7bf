using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Connections.Features;
using Tunnel2.TestBackend.Hosting;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>
/// <c>/abort/N</c>: sends N bytes of a longer body and then resets the connection (over HTTP/2 with <c>scope=stream</c>: the stream).
/// </summary>
/// <remarks>
/// A reset throws away what the kernel has not yet delivered, so the bytes are waited for first: on plain TCP until the peer has
/// acknowledged each of them, over TLS until the kernel holds none and stays so.
/// </remarks>
internal static class AbortEndpoint
{
    private static readonly TimeSpan _pollInterval = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan _quietTime = TimeSpan.FromMilliseconds(20);

    public static async Task HandleAsync(HttpContext context, long count)
    {
        var aborted = context.RequestAborted;
        var isHttp2 = HttpProtocol.IsHttp2(context.Request.Protocol);
        var socket = context.Features.Get<IConnectionSocketFeature>()?.Socket;
        var isPlain = socket is not null && !isHttp2 && !context.Request.IsHttps;
        var delivery = new TcpDelivery(socket);
        var response = context.Response;
        response.ContentType = "application/octet-stream";
        var declared = context.Request.GetNumber("length", -1);
        if (declared >= 0)
        {
            response.ContentLength = Math.Max(declared, count);
        }

        await response.StartAsync(aborted);
        await response.BodyWriter.FlushAsync(aborted);
        await delivery.WaitForQuietAsync(_quietTime, _pollInterval, aborted);

        var headEnd = delivery.AcknowledgedBytes;
        long wireBytes = 0;
        for (long position = 0; position < count;)
        {
            var piece = PatternBytes.Window(position, Math.Min(64 * 1024, count - position));
            await response.BodyWriter.WriteAsync(piece, aborted);
            position += piece.Length;
            wireBytes += declared >= 0 ? piece.Length : ChunkLength(piece.Length);
        }

        if (isPlain && headEnd is { } start)
        {
            await delivery.WaitForAcknowledgedAsync(start + wireBytes, _pollInterval, aborted);
        }
        else
        {
            await delivery.WaitForQuietAsync(_quietTime, _pollInterval, aborted);
        }

        BackendRequest.MarkKilledHere(context);
        if (socket is not null && !(isHttp2 && context.Request.Query["scope"] == "stream"))
        {
            // Closing with a linger time of zero is what makes the kernel send RST instead of FIN.
            socket.LingerState = new LingerOption(true, 0);
            socket.Close(0);
        }

        context.Abort();
    }

    private static int ChunkLength(int payload) =>
        Encoding.ASCII.GetByteCount(payload.ToString("x", CultureInfo.InvariantCulture)) + 2 + payload + 2;
}
