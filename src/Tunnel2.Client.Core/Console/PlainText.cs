namespace Tunnel2.Client.Core.Console;

/// <summary>Makes text that came over the network safe for a terminal.</summary>
internal static class PlainText
{
    /// <summary>Replaces control characters (escape sequences, line breaks) with <c>?</c>.</summary>
    public static string Clean(string text) =>
        text.Any(char.IsControl)
            ? string.Create(text.Length, text, static (span, source) =>
            {
                for (int i = 0; i < span.Length; i++)
                {
                    span[i] = char.IsControl(source[i]) ? '?' : source[i];
                }
            })
            : text;

    /// <summary>A request target without its query, which may hold secrets.</summary>
    public static string WithoutQuery(string target)
    {
        int query = target.IndexOf('?', StringComparison.Ordinal);
        return query < 0 ? target : target[..query];
    }
}
