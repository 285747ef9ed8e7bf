using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>
/// Checks parts of a message that did not come out of a parser of this library, before they are written anywhere. What passes cannot end a
/// line, start another field or carry a NUL. All methods are pure and allocate nothing.
/// </summary>
internal static class FieldSyntax
{
    /// <summary>Whether <paramref name="name"/> is a token (RFC 9110 section 5.6.2): a legal method or field name.</summary>
    public static bool IsToken(ReadOnlySpan<byte> name) => !name.IsEmpty && ByteScanner.AreToken(name);

    /// <summary>
    /// Whether <paramref name="value"/> has no control character other than HTAB (RFC 9110 section 5.5). Bytes from 0x80 on are allowed,
    /// and so is the empty value.
    /// </summary>
    public static bool IsFieldValue(ReadOnlySpan<byte> value) => ByteScanner.AreFieldValue(value);

    /// <summary>
    /// Whether <paramref name="target"/> is a non-empty run of visible ASCII without <c>#</c> and without a backslash before the query;
    /// says nothing about its form.
    /// </summary>
    public static bool IsTarget(ReadOnlySpan<byte> target) => !target.IsEmpty && ByteScanner.EndOfTarget(target, 0, 0) == target.Length;

    /// <summary>Whether <paramref name="value"/> is a host name or address with an optional port, as a Host field must have it.</summary>
    public static bool IsHost(ReadOnlySpan<byte> value) => AuthoritySyntax.IsHostAndPort(value);
}
