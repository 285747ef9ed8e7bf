namespace Tunnel2.Http1;

/// <summary>Finds the error at the end of a request line, outside the fast path.</summary>
internal static class VersionSyntax
{
    /// <summary>
    /// The error in <paramref name="rest"/>, which begins after the target and the space and is not a complete version of HTTP/1 with CR
    /// LF; None if it may still become one. The first byte that does not fit decides, so the result does not depend on how the bytes were
    /// split.
    /// </summary>
    public static Http1Error ErrorInRequest(ReadOnlySpan<byte> rest, out int offset)
    {
        ReadOnlySpan<byte> pattern = "HTTP/0.0\r\n"u8;
        for (offset = 0; offset < pattern.Length; offset++)
        {
            if (offset == rest.Length)
            {
                return Http1Error.None;
            }

            bool fits = pattern[offset] == (byte)'0' ? char.IsAsciiDigit((char)rest[offset]) : rest[offset] == pattern[offset];
            if (!fits)
            {
                return rest[offset] switch
                {
                    (byte)'\n' => Http1Error.BareLineFeed,
                    _ when offset == 9 => Http1Error.BareCarriageReturn,
                    (byte)' ' or (byte)'\t' => Http1Error.InvalidRequestLine,
                    _ => Http1Error.InvalidVersion,
                };
            }
        }

        offset = 5;
        return Http1Error.UnsupportedVersion;
    }
}
