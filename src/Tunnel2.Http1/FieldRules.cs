using System.Text;

namespace Tunnel2.Http1;

/// <summary>
/// The rules of <see cref="FieldTable"/>, one array look-up each. Both fronts and the agent apply them, because neither end of the tunnel
/// trusts the other. Allocates nothing.
/// </summary>
internal static class FieldRules
{
    private static readonly FieldRule[] _request = Column(static row => row.Request);
    private static readonly FieldRule[] _response = Column(static row => row.Response);
    private static readonly FieldRule[] _trailer = Column(static row => row.Trailer);
    private static readonly bool[] _isOfHttp1 = Column(static row => row.IsOfHttp1);

    /// <summary>Names that are dropped from trailers, together with names that look like them.</summary>
    private static readonly byte[][] _droppedTrailers =
        [
            .. FieldTable.Rows.Where(
                static row => row is { Name: not null, Trailer: FieldRule.Drop }).Select(static row => Encoding.ASCII.GetBytes(row.Name!)),
        ];

    private static readonly int _longestDropped = _droppedTrailers.Max(static name => name.Length);

    /// <summary>What happens to a field of a request's head.</summary>
    public static FieldRule OfRequest(KnownField known) => _request[(int)known];

    /// <summary>The same in HTTP/2, where a field of HTTP/1.1 connections makes a message malformed (RFC 9113 section 8.2.2).</summary>
    public static FieldRule OfHttp2Request(KnownField known) => _isOfHttp1[(int)known] ? FieldRule.Refuse : _request[(int)known];

    /// <summary>What happens to a field of a response's head.</summary>
    public static FieldRule OfResponse(KnownField known) => _response[(int)known];

    /// <summary>Whether a field of a response's head passes to the visitor.</summary>
    /// <param name="known">The known field.</param>
    /// <param name="status">The response's status.</param>
    /// <param name="switches">Whether the visitor's connection switches protocols with this response.</param>
    public static bool PassesInResponse(KnownField known, int status, bool switches) => _response[(int)known] switch
    {
        FieldRule.Pass => true,

        // RFC 9110 section 8.6: such responses have no body and must not declare one.
        // RFC 9110 section 15.3.6: nor may 205, of which a client would wait for it.
        FieldRule.Length => status is >= 200 and not 204 and not 205,

        // RFC 9110 section 15.5.22: a 426 has to say which protocols it wants.
        FieldRule.Protocols => switches || status == 426,
        _ => false,
    };

    /// <summary>The same in HTTP/2, which has no fields of HTTP/1.1 connections and does not switch.</summary>
    /// <param name="known">The known field.</param>
    /// <param name="status">The response's status.</param>
    public static bool PassesInHttp2Response(KnownField known, int status) =>
        !_isOfHttp1[(int)known] && PassesInResponse(known, status, switches: false);

    /// <summary>What happens to a field after a body, of a request or a response.</summary>
    /// <param name="known">The known field.</param>
    /// <param name="name">Its name.</param>
    public static FieldRule OfTrailer(KnownField known, ReadOnlySpan<byte> name) =>
        known == KnownField.None && IsDroppedTrailer(name) ? FieldRule.Drop : _trailer[(int)known];

    /// <summary>The same in HTTP/2.</summary>
    /// <param name="known">The known field.</param>
    /// <param name="name">Its name.</param>
    public static FieldRule OfHttp2Trailer(KnownField known, ReadOnlySpan<byte> name) =>
        _isOfHttp1[(int)known] ? FieldRule.Refuse : OfTrailer(known, name);

    /// <summary>
    /// Whether a field after a response's body passes to the visitor. One that cannot be written is left out, and the body stays complete.
    /// </summary>
    /// <param name="name">Its name.</param>
    /// <param name="value">Its value.</param>
    public static bool PassesInTrailers(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value) =>
        FieldSyntax.IsToken(name) && FieldSyntax.IsFieldValue(value) && OfTrailer(KnownFields.Classify(name), name) == FieldRule.Pass;

    private static bool IsDroppedTrailer(ReadOnlySpan<byte> name)
    {
        if (name.Length > _longestDropped)
        {
            return false;
        }

        // As with look-alikes: a backend may read any sign except letters and digits as a hyphen.
        Span<byte> plain = stackalloc byte[KnownFields.LongestName];
        plain = plain[..name.Length];
        for (int i = 0; i < name.Length; i++)
        {
            plain[i] = char.IsAsciiLetterOrDigit((char)name[i]) ? name[i] : (byte)'-';
        }

        foreach (byte[] dropped in _droppedTrailers)
        {
            if (Ascii.EqualsIgnoreCase(plain, dropped))
            {
                return true;
            }
        }

        return false;
    }

    private static T[] Column<T>(Func<FieldRow, T> cell)
    {
        var column = new T[(int)KnownField.Tunnel2 + 1];
        foreach (FieldRow row in FieldTable.Rows)
        {
            // Rows with rules only for trailers have the value None, which all unknown fields share.
            if (row.Known != KnownField.None || row.Name is null)
            {
                column[(int)row.Known] = cell(row);
            }
        }

        return column;
    }
}
