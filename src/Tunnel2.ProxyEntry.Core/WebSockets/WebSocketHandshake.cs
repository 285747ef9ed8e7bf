using System.Text;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.ProxyEntry.WebSockets;

/// <summary>
/// The opening handshake of a WebSocket (RFC 6455 section 4): the client's key, and the answer with which a server proves that it has read
/// the key.
/// </summary>
internal static class WebSocketHandshake
{
    /// <summary>The protocol's name in <c>Upgrade</c> and in <c>:protocol</c>.</summary>
    public const string Protocol = "websocket";

    /// <summary>Makes an unpredictable <c>Sec-WebSocket-Key</c>.</summary>
    public static string CreateKey() => WebSocketKey.Create();

    /// <summary>The <c>Sec-WebSocket-Accept</c> for a key.</summary>
    public static string Accept(string key) => WebSocketKey.Accept(key.Trim());

    /// <summary>Whether a 101 agrees on WebSocket, alone or with other protocols.</summary>
    public static bool IsAgreed(scoped in HeaderBlock head)
    {
        foreach (var field in head.Fields)
        {
            if (KnownFields.Classify(field.Name) == KnownField.Upgrade && Ascii.EqualsIgnoreCase(field.Value, "websocket"u8))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether a 101 is a WebSocket server's correct answer to a key. A client has to check this (RFC 6455 section 4.1).</summary>
    /// <param name="head">The response.</param>
    /// <param name="key">The key of the request.</param>
    public static bool IsAccepted(scoped in HeaderBlock head, string key)
    {
        var expected = Accept(key);
        var isAccepted = false;
        foreach (var field in head.Fields)
        {
            if (KnownFields.Classify(field.Name) == KnownField.SecWebSocketAccept)
            {
                if (isAccepted || !Ascii.Equals(field.Value, expected))
                {
                    return false;
                }

                isAccepted = true;
            }
        }

        return isAccepted && IsAgreed(head);
    }
}
