using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>The value of Transfer-Encoding; only a single <c>chunked</c> is served.</summary>
internal static class TransferEncodingSyntax
{
    /// <summary>
    /// <see cref="Http1Error.None"/> for exactly <c>chunked</c>; <see cref="Http1Error.UnsupportedTransferCoding"/> for a well-formed list
    /// of other codings, with or without one chunked at its end; <see cref="Http1Error.InvalidTransferEncoding"/> for the rest.
    /// </summary>
    public static Http1Error Check(ReadOnlySpan<byte> value) =>
        AsciiCase.EqualsLower(value, "chunked"u8) ? Http1Error.None : Refuse(value);

    private static Http1Error Refuse(ReadOnlySpan<byte> value)
    {
        var list = new ListReader(value);
        bool chunked = false;
        bool others = false;
        while (list.TryRead(out ReadOnlySpan<byte> coding))
        {
            if (chunked || !FieldSyntax.IsToken(coding))
            {
                return Http1Error.InvalidTransferEncoding;
            }

            chunked = AsciiCase.EqualsLower(coding, "chunked"u8);
            others |= !chunked;
        }

        return others ? Http1Error.UnsupportedTransferCoding : Http1Error.InvalidTransferEncoding;
    }
}
