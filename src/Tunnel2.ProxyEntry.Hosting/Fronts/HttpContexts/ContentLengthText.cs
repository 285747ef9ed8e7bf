using System.Globalization;
using System.Text;
using Tunnel2.Http1.Syntax;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// Reads the values of Content-Length for Kestrel, which asks the encoding of a field for its text. Kestrel's own way takes a sign and
/// spaces, and ends the connection of HTTP/2, with all its other requests, for what is no number. Here only digits are a length
/// (RFC 9110 section 8.6), and <see cref="Broken"/> means everything else, so that its request alone is refused.
/// </summary>
internal sealed class ContentLengthText : ASCIIEncoding
{
    /// <summary>Means a value that is no length.</summary>
    public const long Broken = long.MaxValue;

    public static ContentLengthText Instance { get; } = new();

    /// <inheritdoc/>
    public override int GetChars(ReadOnlySpan<byte> bytes, Span<char> chars)
    {
        var length = ContentLengthSyntax.TryParse(bytes, out var parsed) ? parsed : Broken;
        length.TryFormat(chars, out var written, default, CultureInfo.InvariantCulture);
        return written;
    }
}
