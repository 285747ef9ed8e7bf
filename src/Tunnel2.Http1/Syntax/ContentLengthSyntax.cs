namespace Tunnel2.Http1.Syntax;

/// <summary>The value of Content-Length.</summary>
internal static class ContentLengthSyntax
{
    /// <summary>Reads a number of decimal digits only; false for other bytes, and for numbers that do not fit 63 bits.</summary>
    public static bool TryParse(ReadOnlySpan<byte> value, out long length)
    {
        length = 0;
        foreach (byte b in value)
        {
            uint digit = (uint)(b - '0');
            if (digit > 9 || length > (long.MaxValue - digit) / 10)
            {
                return false;
            }

            length = (length * 10) + digit;
        }

        return !value.IsEmpty;
    }
}
