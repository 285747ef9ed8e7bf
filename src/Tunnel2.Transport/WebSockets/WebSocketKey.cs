using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.Transport.WebSockets;

/// <summary>The key of an opening handshake, and the proof that a server has read it (RFC 6455 section 4).</summary>
internal static class WebSocketKey
{
    private const string Guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

    /// <summary>Length of the random value in a key, in bytes.</summary>
    private const int NonceLength = 16;

    /// <summary>Characters of a key.</summary>
    private const int KeyLength = 24;

    /// <summary>Makes an unpredictable <c>Sec-WebSocket-Key</c>.</summary>
    public static string Create()
    {
        Span<byte> nonce = stackalloc byte[NonceLength];
        RandomNumberGenerator.Fill(nonce);
        return Convert.ToBase64String(nonce);
    }

    /// <summary>The <c>Sec-WebSocket-Accept</c> for a key.</summary>
    [SuppressMessage("Security", "CA5350", Justification = "RFC 6455 says SHA-1; nothing is protected by it.")]
    public static string Accept(string key) => Convert.ToBase64String(SHA1.HashData(Encoding.ASCII.GetBytes(key + Guid)));

    /// <summary>Whether a text is a key: 16 bytes in base64.</summary>
    public static bool IsValid(string key)
    {
        Span<byte> nonce = stackalloc byte[NonceLength + 2];
        return key.Length == KeyLength && Convert.TryFromBase64String(key, nonce, out var length) && length == NonceLength;
    }
}
