using System.Buffers;
using System.Buffers.Text;
using System.Text;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>Reads <c>Authorization: Basic …</c> (RFC 7617). Never throws.</summary>
internal static class BasicPair
{
    /// <summary>The longest value that is read: more than the longest user and password take.</summary>
    public const int LongestValue = 640;

    private static ReadOnlySpan<byte> Scheme => "Basic "u8;

    /// <summary>Decodes a value.</summary>
    /// <param name="value">The field's value.</param>
    /// <param name="destination">Room for <see cref="LongestValue"/> bytes.</param>
    /// <param name="pair">User, colon and password, in the destination.</param>
    /// <returns>Where the colon is; -1 when the value is no such pair, or has control characters, which RFC 7617 forbids.</returns>
    public static int TryDecode(ReadOnlySpan<byte> value, Span<byte> destination, out ReadOnlySpan<byte> pair)
    {
        pair = default;
        if (value.Length > LongestValue || value.Length <= Scheme.Length || !Ascii.EqualsIgnoreCase(value[..Scheme.Length], Scheme))
        {
            return -1;
        }

        // The decoder passes over white space, which is no part of base64 (RFC 4648 section 3.3) and would make a login of two values.
        var encoded = value[Scheme.Length..].Trim(" "u8);
        if (encoded.ContainsAny(" \t\r\n"u8))
        {
            return -1;
        }

        var status = Base64.DecodeFromUtf8(encoded, destination, out _, out var length);
        if (status != OperationStatus.Done)
        {
            return -1;
        }

        // Not least NUL: for the hash (HMAC) a password with some at its end is the same as without them.
        if (destination[..length].ContainsAnyInRange((byte)0, (byte)0x1F) || destination[..length].Contains((byte)0x7F))
        {
            return -1;
        }

        pair = destination[..length];
        return pair.IndexOf((byte)':');
    }
}
