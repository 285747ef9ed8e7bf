using System.Buffers;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>
/// Which public names an agent may claim: a name in which <c>*</c> matches any characters, or domains: <c>app.example.org</c>,
/// <c>*.example.org</c> for all below it, <c>*.*</c> for any. A pattern without a dot never covers a domain. Immutable.
/// </summary>
internal sealed class NamePattern
{
    /// <summary>What it looks like, for those who wrote something else.</summary>
    public const string Form =
        "a name or a pattern of [a-z0-9-] and *, at most 50 characters, or a domain such as app.example.org or *.example.org";

    private static readonly SearchValues<char> _allowed = SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-*");

    private const string AnyDomain = "*.*";

    private readonly string _text;

    private NamePattern(string text) => _text = text;

    /// <summary>Whether it is about domains.</summary>
    public bool IsOfDomains => DomainName.IsMeant(_text);

    /// <summary>Whether it is about any domain, of any owner.</summary>
    public bool IsOfAnyDomain => _text == AnyDomain;

    /// <summary>Whether it is one name, without a wildcard.</summary>
    public bool IsLiteral => !_text.Contains('*');

    /// <summary>
    /// How specific the pattern is. A name without <c>*</c> is the most specific; of two patterns it is the one with more characters other
    /// than <c>*</c>. A pattern of only <c>*</c> has 0, and reserves no name.
    /// </summary>
    public int Specificity => IsLiteral ? int.MaxValue : _text.Length - _text.AsSpan().Count('*');

    /// <summary>
    /// Parses 1–50 characters of <c>[a-z0-9-*]</c>, or a domain with or without a wildcard before it; upper case counts as lower case.
    /// </summary>
    public static bool TryParse(string value, out NamePattern? pattern)
    {
        var text = value.Trim().ToLowerInvariant();
        if (DomainName.IsMeant(text))
        {
            pattern = text == AnyDomain || DomainName.FindMistake(text) is null ? new NamePattern(text) : null;
            return pattern is not null;
        }

        pattern = text.Length is > 0 and <= 50 && !text.AsSpan().ContainsAnyExcept(_allowed)
            ? new NamePattern(text)
            : null;
        return pattern is not null;
    }

    /// <summary>Whether the pattern covers a name, which must be in lower case.</summary>
    public bool Matches(ReadOnlySpan<char> name)
    {
        if (IsOfDomains != DomainName.IsMeant(name))
        {
            return false;
        }

        // Greedy, with one position to return to: after a mismatch the latest wildcard takes one character more.
        var (p, n, wildcard, resume) = (0, 0, -1, 0);
        while (n < name.Length)
        {
            if (p < _text.Length && _text[p] == '*')
            {
                (wildcard, resume) = (p++, n);
            }
            else if (p < _text.Length && _text[p] == name[n])
            {
                p++;
                n++;
            }
            else if (wildcard >= 0)
            {
                (p, n) = (wildcard + 1, ++resume);
            }
            else
            {
                return false;
            }
        }

        return _text.AsSpan(p).IndexOfAnyExcept('*') < 0;
    }

    /// <summary>The pattern as it was written, in lower case.</summary>
    public override string ToString() => _text;
}
