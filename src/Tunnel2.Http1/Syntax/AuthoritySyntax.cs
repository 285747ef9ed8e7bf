using System.Buffers;

namespace Tunnel2.Http1.Syntax;

/// <summary>Host names and addresses with an optional port.</summary>
internal static class AuthoritySyntax
{
    // The unreserved characters of RFC 3986. Its grammar also allows sub-delimiters and percent-encoding in a host. They are refused,
    // because no host name has them, and routing tables, caches and backends read them differently.
    private static readonly SearchValues<byte> _name =
        SearchValues.Create("-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8);

    private static readonly SearchValues<byte> _ipv6 = SearchValues.Create(".:0123456789ABCDEFabcdef"u8);

    /// <summary>
    /// Whether <paramref name="value"/> is a non-empty host name, an IPv4 address or a bracketed IPv6 address, with or without <c>:port</c>
    /// (at most 5 digits and 65,535). A port may be empty (RFC 3986 section 3.2.3). User information is refused (RFC 9110 section 4.2.4).
    /// </summary>
    public static bool IsHostAndPort(ReadOnlySpan<byte> value)
    {
        if (value.IsEmpty)
        {
            return false;
        }

        if (value[0] == (byte)'[')
        {
            int close = value.IndexOf((byte)']');
            return close > 2
                && !value[1..close].ContainsAnyExcept(_ipv6)
                && value[1..close].Contains((byte)':')
                && IsEndOrPort(value[(close + 1)..]);
        }

        int end = value.IndexOfAnyExcept(_name);
        return end < 0 || (end > 0 && IsEndOrPort(value[end..]));
    }

    private static bool IsEndOrPort(ReadOnlySpan<byte> rest)
    {
        if (rest.IsEmpty)
        {
            return true;
        }

        if (rest[0] != (byte)':' || rest.Length > 6)
        {
            return false;
        }

        int port = 0;
        foreach (byte digit in rest[1..])
        {
            if (!char.IsAsciiDigit((char)digit))
            {
                return false;
            }

            port = (port * 10) + digit - '0';
        }

        return port <= ushort.MaxValue;
    }
}
