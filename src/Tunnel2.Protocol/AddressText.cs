using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// Addresses as people, settings and other machines write them: the one place that reads them. <see cref="IPAddress"/> also reads short and
/// hexadecimal forms of IPv4, numbers with a zero in front as octal ones, brackets, ports and zones of IPv6: with those, a text would be
/// another address here than for the person or program that wrote it. Pure.
/// </summary>
internal static class AddressText
{
    /// <summary>Reads four decimal numbers with dots, or an address of IPv6 without brackets and zone.</summary>
    public static bool TryRead(ReadOnlySpan<char> text, out IPAddress address)
    {
        address = IPAddress.None;
        var is4 = !text.Contains(':');
        var dotted = text[(text.LastIndexOf(':') + 1)..];
        if (text.ContainsAnyExcept(is4 ? "0123456789." : "0123456789abcdefABCDEF:.")
            || (is4 && text.Count('.') != 3)
            || (dotted.Contains('.') && HasLeadingZero(dotted))
            || !IPAddress.TryParse(text, out var parsed)
            || parsed.AddressFamily != (is4 ? AddressFamily.InterNetwork : AddressFamily.InterNetworkV6))
        {
            return false;
        }

        address = parsed;
        return true;
    }

    /// <summary>
    /// The same, also with the zone that an address of a link has (<c>fe80::1%eth0</c>). It means something on this machine only: for what
    /// its owner writes, and never for what comes from another one.
    /// </summary>
    public static bool TryReadLocal(ReadOnlySpan<char> text, out IPAddress address)
    {
        var zone = text.IndexOf('%');
        if (zone < 0 || zone == text.Length - 1 || text[(zone + 1)..].ContainsAny("[]/% "))
        {
            return TryRead(text, out address);
        }

        if (TryRead(text[..zone], out address)
            && address.AddressFamily == AddressFamily.InterNetworkV6
            && IPAddress.TryParse(text, out var parsed))
        {
            address = parsed;
            return true;
        }

        address = IPAddress.None;
        return false;
    }

    /// <summary>
    /// The same as <see cref="TryRead"/>, also with a port as some proxies write it, and with the brackets of IPv6; null: it is none.
    /// </summary>
    public static IPAddress? ReadForwarded(ReadOnlySpan<char> text)
    {
        var host = text;
        ReadOnlySpan<char> port = default;
        var is6 = false;
        if (text is ['[', ..])
        {
            var end = text.IndexOf(']');
            if (end < 0)
            {
                return null;
            }

            host = text[1..end];
            port = text[(end + 1)..];
            is6 = true;
        }
        else if (text.Count(':') == 1)
        {
            var colon = text.IndexOf(':');
            host = text[..colon];
            port = text[colon..];
        }

        return (port.IsEmpty || IsPort(port))
            && TryRead(host, out var address)
            && (!is6 || address.AddressFamily == AddressFamily.InterNetworkV6)
                ? address
                : null;
    }

    private static bool IsPort(ReadOnlySpan<char> text) =>
        text is [':', _, ..] and { Length: <= 6 } && ushort.TryParse(text[1..], NumberStyles.None, CultureInfo.InvariantCulture, out _);

    private static bool HasLeadingZero(ReadOnlySpan<char> numbers)
    {
        foreach (var part in numbers.Split('.'))
        {
            if (numbers[part] is ['0', _, ..])
            {
                return true;
            }
        }

        return false;
    }
}
