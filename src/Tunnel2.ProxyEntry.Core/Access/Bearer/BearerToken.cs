using System.Buffers;
using System.Text;

namespace Tunnel2.ProxyEntry.Access.Bearer;

/// <summary>Reads <c>Authorization: Bearer …</c> (RFC 6750) with a signed token (JWS, RFC 7515). Never throws.</summary>
internal static class BearerToken
{
    /// <summary>The longest token that is read.</summary>
    public const int LongestToken = 8 * 1024;

    /// <summary>The longest value that is read.</summary>
    public const int LongestValue = LongestToken + 8;

    private static readonly SearchValues<byte> _characters =
        SearchValues.Create("-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"u8);

    private static ReadOnlySpan<byte> Scheme => "Bearer "u8;

    /// <summary>Whether a value that is longer than <see cref="LongestValue"/> is to show a token.</summary>
    public static bool IsMeant(string value) => value.StartsWith("Bearer ", StringComparison.OrdinalIgnoreCase);

    /// <summary>Finds the token in a value.</summary>
    /// <param name="value">The field's value.</param>
    /// <param name="token">The token; empty when the value has one that cannot be a signed token.</param>
    /// <returns>False when the value has no token.</returns>
    public static bool TryRead(ReadOnlySpan<byte> value, out ReadOnlySpan<byte> token)
    {
        token = default;
        if (value.Length <= Scheme.Length || !Ascii.EqualsIgnoreCase(value[..Scheme.Length], Scheme))
        {
            return false;
        }

        var text = value[Scheme.Length..].Trim((byte)' ');
        if (text.Length <= LongestToken && text.Count((byte)'.') == 2 && !text.ContainsAnyExcept(_characters))
        {
            token = text;
        }

        return true;
    }
}
