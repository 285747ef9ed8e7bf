using System.Globalization;
using System.Net;

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
            || !IPAddress.TryParse(text, out var parsed))
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

        if (text[..zone].Contains(':')
            && TryRead(text[..zone], out address)
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
            && (!is6 || host.Contains(':'))
            && TryRead(host, out var address)
                ? address
                : null;
    }

    /// <summary>Reads an address (as a network of one) or a network in CIDR notation.</summary>
    /// <returns>What is wrong, as the end of a sentence without its full stop; null: nothing.</returns>
    public static string? ReadNetwork(string text, out IPNetwork network)
    {
        network = default;
        var slash = text.IndexOf('/', StringComparison.Ordinal);
        if (!TryRead(slash < 0 ? text : text.AsSpan(0, slash), out var address))
        {
            return "is neither an IP address nor a network such as 10.0.0.0/8";
        }

        var bytes = address.GetAddressBytes();
        var most = bytes.Length * 8;
        var bits = most;
        if (slash >= 0
            && (!int.TryParse(text.AsSpan(slash + 1), NumberStyles.None, CultureInfo.InvariantCulture, out bits) || bits > most))
        {
            return string.Create(CultureInfo.InvariantCulture, $"has a prefix length that is not between 0 and {most}");
        }

        for (var i = 0; i < bytes.Length; i++)
        {
            bytes[i] &= (byte)(0xFF00 >> Math.Clamp(bits - (i * 8), 0, 8));
        }

        var first = new IPAddress(bytes);
        if (!first.Equals(address))
        {
            return string.Create(CultureInfo.InvariantCulture, $"has bits set after its prefix; did you mean {first}/{bits}?");
        }

        network = new IPNetwork(address, bits);
        return null;
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
