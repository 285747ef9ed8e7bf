using System.Buffers;

namespace Tunnel2.ProxyEntry.Routing;

/// <summary>
/// The rules for the name under which a session is reached: 1–50 characters of <c>[a-z0-9-]</c>, no hyphen at either end, not ending in
/// <c>-{EntryId}</c>. With the longest entry id it still fits into a DNS label (63 characters, RFC 1035 section 2.3.4).
/// </summary>
internal static class PublicName
{
    /// <summary>The longest name, in characters.</summary>
    public const int MaxLength = 50;

    private static readonly SearchValues<char> _allowed = SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789-");

    /// <summary>Checks a name without allocating.</summary>
    /// <param name="name">The name. Upper case is refused: convert it before, where upper case is allowed.</param>
    /// <param name="entryId">This node's id in lower case, without the hyphen.</param>
    public static PublicNameProblem Check(ReadOnlySpan<char> name, ReadOnlySpan<char> entryId)
    {
        if (name.IsEmpty)
        {
            return PublicNameProblem.Empty;
        }

        if (name.Length > MaxLength)
        {
            return PublicNameProblem.TooLong;
        }

        if (name.ContainsAnyExcept(_allowed))
        {
            return PublicNameProblem.BadCharacter;
        }

        if (name[0] == '-' || name[^1] == '-')
        {
            return PublicNameProblem.HyphenAtEnd;
        }

        return EndsInEntryId(name, entryId) ? PublicNameProblem.EndsInEntryId : PublicNameProblem.None;
    }

    /// <summary>The reason as a sentence for the person who chose the name. Does not repeat the name.</summary>
    public static string Describe(PublicNameProblem problem, string entryId) => problem switch
    {
        PublicNameProblem.None => "The name is valid.",
        PublicNameProblem.Empty => "The name is empty: it needs at least one character.",
        PublicNameProblem.TooLong => "The name is too long: it may have at most 50 characters.",
        PublicNameProblem.BadCharacter => "The name has a character that is not allowed: use lower-case letters a-z, digits and hyphens.",
        PublicNameProblem.HyphenAtEnd => "The name begins or ends with a hyphen.",
        PublicNameProblem.EndsInEntryId => $"The name ends in -{entryId}, which this server uses for its own form of every address.",
        _ => throw new ArgumentOutOfRangeException(nameof(problem), problem, null),
    };

    /// <summary>Whether a text ends in a hyphen and the entry id.</summary>
    internal static bool EndsInEntryId(ReadOnlySpan<char> text, ReadOnlySpan<char> entryId) =>
        text.Length > entryId.Length && text[^(entryId.Length + 1)] == '-' && text.EndsWith(entryId);
}
