using System.Text;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Exchanges;

/// <summary>The head of a request, ready to send, for each host.</summary>
internal static class RequestHeads
{
    /// <summary>The key of every WebSocket handshake: it protects nothing, and a known one has a known answer.</summary>
    public const string WebSocketKey = "dHVubmVsMi1sb2FkLXRlc3Q=";

    /// <summary>Makes them.</summary>
    public static byte[][] Make(RequestTemplate request, IReadOnlyList<string> hosts, bool newConnectionEach) =>
        [.. hosts.Select(host => Encoding.ASCII.GetBytes(Make(request, host, newConnectionEach)))];

    private static string Make(RequestTemplate request, string host, bool newConnectionEach)
    {
        var head = new StringBuilder();
        head.Append(request.Kind == RequestKind.Echo ? "POST " : "GET ").Append(request.Path).Append(" HTTP/1.1\r\nHost: ").Append(host);
        head.Append("\r\nUser-Agent: tunnel2-load\r\nAccept: */*\r\n");
        if (request.Kind == RequestKind.Echo)
        {
            head.Append("Content-Type: application/octet-stream\r\nContent-Length: ").Append(request.Size).Append("\r\n");
        }

        if (request.Kind == RequestKind.WebSocket)
        {
            head.Append("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ")
                .Append(WebSocketKey)
                .Append("\r\n");
        }
        else if (newConnectionEach)
        {
            head.Append("Connection: close\r\n");
        }

        return head.Append("\r\n").ToString();
    }
}
