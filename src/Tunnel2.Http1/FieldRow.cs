namespace Tunnel2.Http1;

/// <summary>What happens to one field, or to a family of them.</summary>
/// <param name="Name">The name in lower case; null for a family of names.</param>
/// <param name="Known">The known field; <see cref="KnownField.None"/> if only trailers have a rule for it.</param>
/// <param name="Request">The rule in a request's head.</param>
/// <param name="Response">The rule in a response's head.</param>
/// <param name="Trailer">The rule after a body, of a request or a response.</param>
internal readonly record struct FieldRow(string? Name, KnownField Known, FieldRule Request, FieldRule Response, FieldRule Trailer)
{
    /// <summary>
    /// The field of names that look like this one, with another sign in place of a hyphen. None: they are ordinary fields.
    /// </summary>
    public KnownField Lookalike { get; init; }

    /// <summary>Whether HTTP/2 has no such field, so that a message with it is malformed there (RFC 9113 section 8.2.2).</summary>
    public bool IsOfHttp1 { get; init; }
}
