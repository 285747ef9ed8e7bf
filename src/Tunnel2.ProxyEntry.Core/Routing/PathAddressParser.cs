using System.Numerics;

namespace Tunnel2.ProxyEntry.Routing;

/// <summary>
/// Finds the public name in a request target of test mode, <c>/session/{name}/rest?query</c>. Takes the raw target: nothing is decoded or
/// normalised, so that the backend gets exactly what the visitor sent. Never throws, never allocates. Immutable.
/// </summary>
internal sealed class PathAddressParser
{
    private readonly string _entryId;

    /// <param name="entryId">This node's id in lower case.</param>
    public PathAddressParser(string entryId) => _entryId = entryId;

    /// <summary>Parses a target in origin form (RFC 9112 section 3.2.1); other forms name no session.</summary>
    /// <param name="target">Path and query as received.</param>
    /// <param name="nameBuffer">Receives the name in lower case; at least <see cref="PublicName.MaxLength"/> long.</param>
    public PathAddress Parse(ReadOnlySpan<char> target, Span<char> nameBuffer) =>
        target.StartsWith("/session/") ? ParseName(target, nameBuffer) : default;

    /// <summary>The same for a target in bytes.</summary>
    public PathAddress Parse(ReadOnlySpan<byte> target, Span<char> nameBuffer) =>
        target.StartsWith("/session/"u8) ? ParseName(target, nameBuffer) : default;

    private PathAddress ParseName<T>(ReadOnlySpan<T> target, Span<char> nameBuffer)
        where T : unmanaged, IBinaryInteger<T>
    {
        const int NameStart = 9; // "/session/"
        var rest = target[NameStart..];
        var length = rest.IndexOfAny(T.CreateTruncating('/'), T.CreateTruncating('?'));
        if (length < 0)
        {
            length = rest.Length;
        }

        var invalid = new PathAddress(PathAddressOutcome.Invalid, 0, 0, false);
        if (length > PublicName.MaxLength)
        {
            return invalid;
        }

        for (var i = 0; i < length; i++)
        {
            // ASCII only: the full rules would turn the Kelvin sign into a k.
            var c = (char)ushort.CreateTruncating(rest[i]);
            nameBuffer[i] = char.IsAsciiLetterUpper(c) ? (char)(c | 0x20) : c;
        }

        if (PublicName.Check(nameBuffer[..length], _entryId) != PublicNameProblem.None)
        {
            return invalid;
        }

        var needsSlash = length == rest.Length || rest[length] == T.CreateTruncating('?');
        return new PathAddress(PathAddressOutcome.Name, length, NameStart + length, needsSlash);
    }
}
