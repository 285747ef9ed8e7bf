namespace Tunnel2.ProxyEntry.Routing;

/// <summary>Why a text cannot be a public name.</summary>
internal enum PublicNameProblem
{
    /// <summary>It is a valid name.</summary>
    None,

    /// <summary>It has no characters.</summary>
    Empty,

    /// <summary>More than <see cref="PublicName.MaxLength"/> characters.</summary>
    TooLong,

    /// <summary>A character outside <c>[a-z0-9-]</c>, upper case included.</summary>
    BadCharacter,

    /// <summary>A hyphen at the beginning or the end.</summary>
    HyphenAtEnd,

    /// <summary>
    /// The name ends in <c>-{EntryId}</c>, as the second form of every address does, so the two could not be distinguished.
    /// </summary>
    EndsInEntryId,
}
