using System.Text;

namespace Tunnel2.Http1;

/// <summary>
/// Which fields are forwarded, dropped and refused: one rule for every version of HTTP, and for both ends of the tunnel, neither of which
/// takes the other's word for it. Who frames a message anew, or says who forwarded it, deals with those fields first.
/// </summary>
internal static class FieldRules
{
    private const int LongestForbidden = 19; // If-Unmodified-Since

    /// <summary>
    /// RFC 9110 section 6.5.1: what routes, authenticates or modifies a request, controls a response or says how to read the content is too
    /// late behind it, and a reader that merges trailers into the head would take it for the head's. Framing and hop-by-hop come before.
    /// </summary>
    private static readonly byte[][] _forbiddenTrailers =
    [
        .. new[]
        {
            "age", "authorization", "cache-control", "content-encoding", "content-range", "content-type", "cookie", "date", "expect", "expires",
            "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "location", "max-forwards", "origin", "pragma",
            "range", "retry-after", "set-cookie", "trailer", "vary", "warning", "www-authenticate",
        }.Select(Encoding.ASCII.GetBytes),
    ];

    /// <summary>What becomes of a field of a request's head. Who forwards for a visitor deals with <see cref="KnownFields.IsForwarding"/> itself.</summary>
    public static FieldRule OfRequest(KnownField known) => known switch
    {
        KnownField.FramingLookalike => FieldRule.Refuse,
        KnownField.ForwardingLookalike or KnownField.Tunnel2 => FieldRule.Drop,
        _ => KnownFields.IsHopByHop(known) ? FieldRule.Drop : FieldRule.Pass,
    };

    /// <summary>What becomes of a field of a response's head.</summary>
    public static FieldRule OfResponse(KnownField known) => known switch
    {
        KnownField.FramingLookalike or KnownField.Tunnel2 => FieldRule.Drop,
        _ => KnownFields.IsHopByHop(known) ? FieldRule.Drop : FieldRule.Pass,
    };

    /// <summary>What becomes of a field behind a body, of a request or a response.</summary>
    /// <param name="known">What the field is.</param>
    /// <param name="name">Its name.</param>
    public static FieldRule OfTrailer(KnownField known, ReadOnlySpan<byte> name) => known switch
    {
        KnownField.Host or KnownField.ContentLength or KnownField.TransferEncoding or KnownField.FramingLookalike => FieldRule.Refuse,
        KnownField.ForwardingLookalike or KnownField.Tunnel2 => FieldRule.Drop,
        _ => KnownFields.IsHopByHop(known) || KnownFields.IsForwarding(known) || IsForbiddenTrailer(name) ? FieldRule.Drop : FieldRule.Pass,
    };

    private static bool IsForbiddenTrailer(ReadOnlySpan<byte> name)
    {
        if (name.Length > LongestForbidden)
        {
            return false;
        }

        // As with look-alikes: whatever is no letter and no digit may be read as a hyphen.
        Span<byte> plain = stackalloc byte[LongestForbidden];
        plain = plain[..name.Length];
        for (int i = 0; i < name.Length; i++)
        {
            plain[i] = char.IsAsciiLetterOrDigit((char)name[i]) ? name[i] : (byte)'-';
        }

        foreach (byte[] forbidden in _forbiddenTrailers)
        {
            if (Ascii.EqualsIgnoreCase(plain, forbidden))
            {
                return true;
            }
        }

        return false;
    }
}
