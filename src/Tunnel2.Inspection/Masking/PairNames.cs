namespace Tunnel2.Inspection.Masking;

/// <summary>
/// The members that a name and its value are, where each is one of its own: <c>{"name":"password","value":"…"}</c>, as lists of fields,
/// variables and tags have them. Pure.
/// </summary>
internal static class PairNames
{
    /// <summary>Longer texts are no names.</summary>
    public const int Longest = 256;

    /// <summary>Whether a member's text is the name of another one.</summary>
    public static bool IsName(ReadOnlySpan<char> member) =>
        member.Equals("name", StringComparison.OrdinalIgnoreCase) || member.Equals("key", StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether a member is the value of what another one names.</summary>
    public static bool IsValue(ReadOnlySpan<char> member) => member.Equals("value", StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether the text of a name is that of a secret. Fields of CORS have such names, and are public.</summary>
    public static bool IsSecret(string name, MaskingRules rules) =>
        name.Length <= Longest && !name.StartsWith("Access-Control-", StringComparison.OrdinalIgnoreCase) && rules.IsSecret(name);
}
