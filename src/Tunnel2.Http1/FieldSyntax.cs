using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>
/// Checks parts of a message that no parser of this library has produced, before they are written. A valid part cannot end a line, start
/// another field or contain a NUL. All methods are pure and allocate nothing.
/// </summary>
internal static class FieldSyntax
{
    /// <summary>Whether <paramref name="name"/> is a token (RFC 9110 section 5.6.2): a legal method or field name.</summary>
    public static bool IsToken(ReadOnlySpan<byte> name) => !name.IsEmpty && ByteScanner.AreToken(name);

    /// <summary>
    /// Whether <paramref name="value"/> has no control character except HTAB (RFC 9110 section 5.5). Bytes from 0x80 on are allowed, and so
    /// is the empty value.
    /// </summary>
    public static bool IsFieldValue(ReadOnlySpan<byte> value) => ByteScanner.AreFieldValue(value);

    /// <summary>
    /// Whether <paramref name="target"/> is not empty, and is visible ASCII without <c>#</c> and without a backslash before the query. It
    /// does not check the target's form.
    /// </summary>
    public static bool IsTarget(ReadOnlySpan<byte> target) => !target.IsEmpty && ByteScanner.EndOfTarget(target, 0, 0) == target.Length;

    /// <summary>Whether <paramref name="value"/> is a host name or address with an optional port, as in a valid Host field.</summary>
    public static bool IsHost(ReadOnlySpan<byte> value) => AuthoritySyntax.IsHostAndPort(value);
}
