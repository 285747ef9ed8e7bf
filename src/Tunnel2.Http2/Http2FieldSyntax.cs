using System.Buffers;

namespace Tunnel2.Http2;

/// <summary>Which names and values a field may have in HTTP/2 (RFC 9113 section 8.2.1). Pure.</summary>
internal static class Http2FieldSyntax
{
    private static readonly SearchValues<byte> _name = SearchValues.Create("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"u8);

    private static readonly SearchValues<byte> _broken = SearchValues.Create(CreateBroken());

    /// <summary>Whether a name is a token without upper case. A pseudo field, which begins with a colon, is none.</summary>
    public static bool IsName(ReadOnlySpan<byte> name) => !name.IsEmpty && !name.ContainsAnyExcept(_name);

    /// <summary>Whether a value has no control character except HTAB, and no white space at its ends.</summary>
    public static bool IsValue(ReadOnlySpan<byte> value) =>
        value.IsEmpty || (!IsSpace(value[0]) && !IsSpace(value[^1]) && !value.ContainsAny(_broken));

    private static bool IsSpace(byte value) => value is (byte)' ' or (byte)'\t';

    private static byte[] CreateBroken()
    {
        var broken = new List<byte> { 0x7f };
        for (byte value = 0; value < 0x20; value++)
        {
            if (value != '\t')
            {
                broken.Add(value);
            }
        }

        return [.. broken];
    }
}
