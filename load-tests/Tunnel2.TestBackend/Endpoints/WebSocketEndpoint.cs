using System.Diagnostics.CodeAnalysis;
using System.Net.WebSockets;
using System.Security.Cryptography;
using System.Text;
using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>
/// <c>/ws-echo</c>: a WebSocket (RFC 6455; over HTTP/2 RFC 8441) that sends each piece of a message back as it comes.
/// </summary>
/// <remarks>The handshake is made by hand, so that no middleware runs for all other requests.</remarks>
internal static class WebSocketEndpoint
{
    private const string KeySuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    private const int BufferLength = 16 * 1024;

    public static async Task HandleAsync(HttpContext context)
    {
        var stream = await AcceptAsync(context);
        if (stream is null)
        {
            context.Response.Headers.SecWebSocketVersion = "13";
            await BackendHandler.AnswerTextAsync(context, StatusCodes.Status426UpgradeRequired, "This is a WebSocket.\n");
            return;
        }

        using var socket = WebSocket.CreateFromStream(stream, new WebSocketCreationOptions
        {
            IsServer = true,
            SubProtocol = FirstSubProtocol(context),
            KeepAliveInterval = Timeout.InfiniteTimeSpan,
        });
        try
        {
            await EchoAsync(socket, context.RequestAborted);
        }
        catch (WebSocketException)
        {
            // The other side broke off or broke the protocol; the connection ends.
            context.Abort();
        }
    }

    [SuppressMessage(
        "Security", "CA5350", Justification = "The handshake of RFC 6455 section 4.2.2 is defined with SHA-1; it protects nothing.")]
    private static async Task<Stream?> AcceptAsync(HttpContext context)
    {
        var headers = context.Request.Headers;
        if (FirstSubProtocol(context) is { } subProtocol)
        {
            context.Response.Headers.SecWebSocketProtocol = subProtocol;
        }

        if (context.Features.Get<IHttpExtendedConnectFeature>() is { IsExtendedConnect: true, Protocol: "websocket" } connect)
        {
            return await connect.AcceptAsync();
        }

        var key = headers.SecWebSocketKey.ToString();
        if (context.Features.Get<IHttpUpgradeFeature>() is not { IsUpgradableRequest: true } upgrade
            || !string.Equals(headers.Upgrade.ToString(), "websocket", StringComparison.OrdinalIgnoreCase)
            || key.Length == 0)
        {
            return null;
        }

        var accept = SHA1.HashData(Encoding.ASCII.GetBytes(key + KeySuffix));
        context.Response.Headers.Upgrade = "websocket";
        context.Response.Headers.SecWebSocketAccept = Convert.ToBase64String(accept);
        return await upgrade.UpgradeAsync();
    }

    private static async Task EchoAsync(WebSocket socket, CancellationToken aborted)
    {
        var buffer = new byte[BufferLength];
        while (true)
        {
            var received = await socket.ReceiveAsync(buffer.AsMemory(), aborted);
            if (received.MessageType == WebSocketMessageType.Close)
            {
                await socket.CloseOutputAsync(
                    socket.CloseStatus ?? WebSocketCloseStatus.Empty,
                    socket.CloseStatus is null or WebSocketCloseStatus.Empty ? null : socket.CloseStatusDescription, aborted);
                return;
            }

            await socket.SendAsync(buffer.AsMemory(0, received.Count), received.MessageType, received.EndOfMessage, aborted);
        }
    }

    private static string? FirstSubProtocol(HttpContext context) =>
        context.WebSocketsRequestedProtocols() is [var first, ..] ? first : null;

    private static string[] WebSocketsRequestedProtocols(this HttpContext context) =>
        context.Request.Headers.SecWebSocketProtocol.ToString()
            .Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
}
