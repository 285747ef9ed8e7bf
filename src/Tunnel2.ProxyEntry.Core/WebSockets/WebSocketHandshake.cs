using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.WebSockets;

/// <summary>
/// The opening handshake of a WebSocket (RFC 6455 section 4): the client's key, and the answer with which a server proves that it has read
/// the key.
/// </summary>
internal static class WebSocketHandshake
{
    /// <summary>The protocol's name in <c>Upgrade</c> and in <c>:protocol</c>.</summary>
    public const string Protocol = "websocket";

    private const string Guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

    /// <summary>Length of the random value in a key, in bytes.</summary>
    private const int NonceLength = 16;

    /// <summary>Makes an unpredictable <c>Sec-WebSocket-Key</c>.</summary>
    public static string CreateKey()
    {
        Span<byte> nonce = stackalloc byte[NonceLength];
        RandomNumberGenerator.Fill(nonce);
        return Convert.ToBase64String(nonce);
    }

    /// <summary>The <c>Sec-WebSocket-Accept</c> for a key.</summary>
    [SuppressMessage("Security", "CA5350", Justification = "RFC 6455 says SHA-1; nothing is protected by it.")]
    public static string Accept(string key) => Convert.ToBase64String(SHA1.HashData(Encoding.ASCII.GetBytes(key.Trim() + Guid)));

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
