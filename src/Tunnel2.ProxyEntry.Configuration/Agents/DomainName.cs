using System.Buffers;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>
/// A domain that an agent claims as a whole, such as <c>app.example.org</c>, or with one wildcard at its front: <c>*.app.example.org</c>.
/// It has a dot, which no name below the server's own domain has. Labels are of ASCII (RFC 1123; others in their <c>xn--</c> form).
/// </summary>
internal static class DomainName
{
    /// <summary>The longest domain, in characters.</summary>
    public const int MaxLength = 253;

    /// <summary>The longest name that the live plane takes.</summary>
    private const int LongestShown = 50;

    private const int LongestLabel = 63;

    private static readonly SearchValues<char> _allowed = SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-");

    /// <summary>Whether a name is meant to be a domain.</summary>
    public static bool IsMeant(ReadOnlySpan<char> name) => name.Contains('.');

    /// <summary>Whether a domain has a wildcard.</summary>
    public static bool IsWildcard(ReadOnlySpan<char> domain) => domain.StartsWith("*.");

    /// <summary>Checks a domain in lower case.</summary>
    /// <returns>What is wrong, as a sentence that does not repeat it; null: nothing.</returns>
    public static string? FindMistake(ReadOnlySpan<char> domain)
    {
        if (domain.Length > MaxLength)
        {
            return "The domain is longer than 253 characters.";
        }

        var rest = IsWildcard(domain) ? domain[2..] : domain;
        var labels = 0;
        var last = rest;
        foreach (var range in rest.Split('.'))
        {
            last = rest[range];
            labels++;
            if (last.IsEmpty || last.Length > LongestLabel)
            {
                return "The domain has a part that is empty or longer than 63 characters.";
            }

            if (last.ContainsAnyExcept(_allowed))
            {
                return "The domain has a character that is not allowed: use a-z, digits and hyphens, international names in their xn-- "
                    + "form, and '*' only as the whole first part.";
            }

            if (last[0] == '-' || last[^1] == '-' || (last.Length > 3 && last[2] == '-' && last[3] == '-' && !last.StartsWith("xn--")))
            {
                return "The domain has a part with a hyphen where none may be.";
            }
        }

        return labels < 2 ? "The domain has only one part."
            : !last.ContainsAnyExceptInRange('0', '9') ? "An IP address is no domain."
            : null;
    }

    /// <summary>Checks a domain in lower case that agents of a server claim.</summary>
    /// <param name="domain">The domain.</param>
    /// <param name="own">The server's own domain.</param>
    /// <returns>What is wrong, as a sentence that does not repeat it; null: nothing.</returns>
    public static string? FindMistake(string domain, string own) =>
        FindMistake(domain)

        // A wildcard above the server's own domain would not get its names, but could be taken for them.
        ?? (IsAtOrBelow(domain, own) || domain == $"*{ParentOf(own)}"
            ? "The server's own domain and what is below it cannot be claimed: ask for a name without a dot."
            : null);

    /// <summary>What is wrong with an entry of a list of names that is the server's own domain or below it; null: it is not.</summary>
    /// <param name="entry">The entry, in lower case: a name, a pattern or a domain.</param>
    /// <param name="own">The server's own domain.</param>
    /// <returns>The rest of a sentence whose subject is the entry, without its end.</returns>
    public static string? FindOwn(string entry, string own)
    {
        if (!IsMeant(entry) || !IsAtOrBelow(entry, own))
        {
            return null;
        }

        var name = entry.Length == own.Length ? "" : entry[..^(own.Length + 1)];
        return name.Length == 0 ? "which is the server's own domain and no agent's"
            : IsMeant(name) ? "which no agent can claim: names below the server's own domain have no dot"
            : $"which no agent can claim: below the server's own domain it is a name; write '{name}'";
    }

    /// <summary>Whether a host is a domain or is below it.</summary>
    public static bool IsAtOrBelow(ReadOnlySpan<char> host, ReadOnlySpan<char> domain) =>
        host.EndsWith(domain) && (host.Length == domain.Length || host[^(domain.Length + 1)] == '.');

    /// <summary>Whether a wildcard covers a domain: it has one part in place of the <c>*</c>.</summary>
    public static bool IsCoveredBy(ReadOnlySpan<char> domain, ReadOnlySpan<char> wildcard)
    {
        var dot = domain.IndexOf('.');
        return IsWildcard(wildcard) && dot > 0 && domain[0] != '*' && domain[dot..].SequenceEqual(wildcard[1..]);
    }

    /// <summary>
    /// Makes the wildcard that covers a host, in the host's own characters: <c>*.example.org</c> of <c>app.example.org</c>.
    /// </summary>
    /// <returns>Empty where there is none.</returns>
    public static Span<char> ToWildcard(Span<char> host)
    {
        var dot = host.IndexOf('.');
        if (dot < 1)
        {
            return default;
        }

        host[dot - 1] = '*';
        return host[(dot - 1)..];
    }

    private static string ParentOf(string domain) =>
        domain.IndexOf('.', StringComparison.Ordinal) is >= 0 and var dot ? domain[dot..] : "." + domain;

    /// <summary>
    /// A name as the live plane has it, where dots part the names of channels and a name has at most 50 characters. A domain gets
    /// underscores, which are in no name; a long one ends in a part of its hash.
    /// </summary>
    public static string ShownOf(string name)
    {
        if (!IsMeant(name))
        {
            return name;
        }

        var shown = name.Replace('.', '_').Replace("*", "any", StringComparison.Ordinal);
        if (shown.Length <= LongestShown)
        {
            return shown;
        }

        var hash = System.Security.Cryptography.SHA256.HashData(System.Text.Encoding.ASCII.GetBytes(name));
        return $"{shown.AsSpan(0, LongestShown - 9)}_{Convert.ToHexStringLower(hash.AsSpan(0, 4))}";
    }
}
