using System.Text;
using System.Text.RegularExpressions;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces secrets that are known by their form, in any text and with any name: JSON Web Tokens, what follows <c>Bearer</c> and
/// <c>Basic</c>, private keys of PEM, and tokens whose issuers begin them with letters of their own so that they are recognised.
/// </summary>
internal static partial class TokenMask
{
    /// <summary>Masks a text.</summary>
    public static string Apply(string text)
    {
        var shown = JwtMask.Apply(text);
        return Forms().IsMatch(shown) ? Forms().Replace(shown, Masked) : shown;
    }

    /// <summary>Masks a text.</summary>
    /// <param name="text">UTF-8, or anything.</param>
    /// <param name="isMasked">Whether anything was replaced.</param>
    public static byte[] Apply(byte[] text, out bool isMasked)
    {
        var tokens = JwtMask.Apply(text, out isMasked);

        // Latin-1 keeps what is not ASCII as it is.
        var plain = Encoding.Latin1.GetString(tokens);
        var shown = Forms().Replace(plain, Masked);
        if (shown == plain)
        {
            return tokens;
        }

        isMasked = true;
        return Encoding.Latin1.GetBytes(shown);
    }

    /// <summary>What is shown in a match's place: without its secret, or as it is where the word after <c>Basic</c> is none.</summary>
    private static string Masked(Match match) =>
        match.Groups["basic"] is { Success: true } word && !IsUserAndPassword(word.Value) ? match.Value
        : match.Groups["before"].Value + MaskingRules.Mask;

    /// <summary>Whether a word is base64 of a text with a colon: the name of a chapter, "Basic usage", is not.</summary>
    private static bool IsUserAndPassword(string word)
    {
        var whole = word.TrimEnd('=').Replace('-', '+').Replace('_', '/');
        var bytes = new byte[whole.Length];
        return Convert.TryFromBase64String(whole.PadRight((whole.Length + 3) / 4 * 4, '='), bytes, out var length)
            && bytes.AsSpan(0, length).Contains((byte)':');
    }

    /// <summary>A word after <c>Bearer</c> has a digit, or is long: prose has short words of letters there.</summary>
    [GeneratedRegex(
        """
        (?<![A-Za-z0-9_])(?:
          (?<before>[Bb][Ee][Aa][Rr][Ee][Rr][ ]{1,4})(?:(?=[A-Za-z._~+/-]{0,64}[0-9])[A-Za-z0-9._~+/-]{8,}|[A-Za-z0-9._~+/-]{20,})=*
          |(?<before>[Bb][Aa][Ss][Ii][Cc][ ]{1,4})(?<basic>[A-Za-z0-9+/_-]{4,}={0,2})
          |(?<before>-----BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----)[\s\S]*?(?=-----END|\z)
          |(?:[sr]k_(?:live|test)_|whsec_|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|t2_|dop_v1_|npm_|AKIA|ASIA|AIza)
            [A-Za-z0-9_-]{16,}[+/=]*
          |sk-(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{20,}
        )
        """,
        RegexOptions.CultureInvariant | RegexOptions.IgnorePatternWhitespace | RegexOptions.ExplicitCapture)]
    private static partial Regex Forms();
}
