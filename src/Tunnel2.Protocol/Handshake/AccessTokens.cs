using System.Buffers;

namespace Tunnel2.Protocol.Handshake;

/// <summary>Visitors show a token (JWT) of this issuer for this audience. Immutable.</summary>
/// <param name="Issuer">The issuer, as its tokens name it; see <see cref="IsText"/>.</param>
/// <param name="Audience">The audience that a token has to be for; see <see cref="IsText"/>.</param>
public sealed record AccessTokens(string Issuer, string Audience)
{
    /// <summary>The longest issuer and the longest audience, in characters.</summary>
    public const int MaxTextLength = 255;

    private static readonly SearchValues<char> _characters = SearchValues.Create(
        "!#$%&'()*+-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~");

    /// <summary>
    /// Whether a text can be an issuer or an audience: 1 to 255 visible ASCII characters, none of them a comma, a quote, a backslash or
    /// one of <c>&lt; &gt; ^ ` { | }</c>, which no URL has.
    /// </summary>
    public static bool IsText(ReadOnlySpan<char> text) => text.Length is > 0 and <= MaxTextLength && !text.ContainsAnyExcept(_characters);
}
