using System.Text.RegularExpressions;

namespace Tunnel2.Inspection.Masking;

/// <summary>
/// Replaces the values of secret names in lines of several pairs with spaces between them, as logs and commands are written:
/// <c>level=info token=abc</c>. A single pair in a line may be prose.
/// </summary>
internal static partial class PairLineMask
{
    /// <summary>Masks a text.</summary>
    public static string Apply(string text, MaskingRules rules) => Lines().Replace(
        text,
        line => Pairs().Replace(
            line.Value,
            pair => pair.Groups["name"].Value is var name && rules.IsSecret(name) ? $"{name}={MaskingRules.Mask}" : pair.Value));

    /// <summary>A line with two pairs or more.</summary>
    [GeneratedRegex(@"^[^=\n]*[^=\s]=[^=\s][^=\n]*[ \t][^=\s]+=[^\n]*", RegexOptions.CultureInvariant | RegexOptions.Multiline)]
    private static partial Regex Lines();

    /// <summary>A name and a word. It is looked for at the begin of words only.</summary>
    [GeneratedRegex(
        """(?<![A-Za-z0-9_.$-])(?<name>[A-Za-z_-][A-Za-z0-9_.-]{0,63})=[^\s&;,"'`<>{}\[\]=]+(?=\s|\z)""",
        RegexOptions.CultureInvariant | RegexOptions.ExplicitCapture)]
    private static partial Regex Pairs();
}
