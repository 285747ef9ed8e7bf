using System.Buffers;
using System.Text;
using Tunnel2.Http1;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>The rules of <see cref="FieldSyntax"/> for text that HttpContext made: each character is a byte. Pure.</summary>
internal static class FieldText
{
    private const int LongestHost = 512;

    private static readonly SearchValues<char> _token = SearchValues.Create(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    private static readonly SearchValues<char> _controls = SearchValues.Create(
        [.. Enumerable.Range(0, 0x20).Where(static code => code != '\t').Append(0x7F).Select(static code => (char)code)]);

    private static readonly SearchValues<char> _target = SearchValues.Create(
        [.. Enumerable.Range('!', '~' - '!' + 1).Where(static code => code != '#').Select(static code => (char)code)]);

    /// <summary>Whether this is a legal name.</summary>
    public static bool IsToken(string name) => name.Length > 0 && !name.AsSpan().ContainsAnyExcept(_token);

    /// <summary>Whether a value has no control character except HTAB.</summary>
    public static bool IsValue(string value) => !value.AsSpan().ContainsAny(_controls);

    /// <summary>Whether a value begins or ends with white space, which HTTP/2 forbids (RFC 9113 section 8.2.1).</summary>
    public static bool IsPadded(string value) => value.Length > 0 && (value[0] is ' ' or '\t' || value[^1] is ' ' or '\t');

    /// <summary>Whether this is a host name or address with an optional port.</summary>
    public static bool IsHost(string authority)
    {
        if (authority.Length is 0 or > LongestHost)
        {
            return false;
        }

        Span<byte> bytes = stackalloc byte[LongestHost];
        return Ascii.FromUtf16(authority, bytes, out var length) == OperationStatus.Done && FieldSyntax.IsHost(bytes[..length]);
    }

    /// <summary>Whether this is visible ASCII without a fragment, and without a backslash before the query.</summary>
    public static bool IsTarget(string target)
    {
        if (target.Length == 0 || target.AsSpan().ContainsAnyExcept(_target))
        {
            return false;
        }

        var backslash = target.IndexOf('\\', StringComparison.Ordinal);
        return backslash < 0 || target.AsSpan(0, backslash).Contains('?');
    }
}
