using System.Buffers;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Reads and writes <c>host</c>, <c>host:port</c> and <c>[IPv6]:port</c> (RFC 3986, 3.2.2 and 3.2.3).</summary>
internal static class HostPort
{
    private const int MaxHostLength = 253;
    private const int MaxLabelLength = 63;

    // RFC 952 and 1123, and the underscore that names in container networks have.
    private static readonly SearchValues<char> _labelCharacters =
        SearchValues.Create("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

    /// <summary>Splits <paramref name="text"/>; <paramref name="port"/> is null when none was written.</summary>
    /// <returns>Null, or what is wrong in words that fit after "flag: ".</returns>
    public static string? TrySplit(string text, out string host, out int? port)
    {
        host = "";
        port = null;

        string portText;
        if (text.StartsWith('['))
        {
            int close = text.IndexOf(']', StringComparison.Ordinal);
            if (close < 0)
            {
                return $"'{text}' lacks the closing ']' of the IPv6 address";
            }

            host = text[1..close];
            string rest = text[(close + 1)..];
            if (!IsIPv6(host))
            {
                return $"'{host}' is not an IPv6 address";
            }

            if (rest.Length == 0)
            {
                return null;
            }

            if (rest[0] != ':')
            {
                return $"'{text}' has something other than ':port' after ']'";
            }

            portText = rest[1..];
        }
        else if (IsIPv6(text))
        {
            host = text;
            return null;
        }
        else
        {
            int colon = text.IndexOf(':', StringComparison.Ordinal);
            if (colon != text.LastIndexOf(':'))
            {
                return $"'{text}' is not host:port (an IPv6 address with a port is written [address]:port)";
            }

            host = colon < 0 ? text : text[..colon];
            if (!IsHost(host))
            {
                return host.Length == 0 ? $"'{text}' lacks a host" : $"'{host}' is not a host name or IP address";
            }

            if (colon < 0)
            {
                return null;
            }

            portText = text[(colon + 1)..];
        }

        if (!TryParsePort(portText, out int parsed))
        {
            return $"'{portText}' is not a port (1 to 65535)";
        }

        port = parsed;
        return null;
    }

    public static bool TryParsePort(string text, out int port) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out port) && port is >= 1 and <= 65535;

    public static string Format(string host, int port) =>
        string.Create(CultureInfo.InvariantCulture, $"{FormatHost(host)}:{port}");

    public static string FormatHost(string host) => host.Contains(':', StringComparison.Ordinal) ? $"[{host}]" : host;

    /// <summary>
    /// <c>host:port</c> for a Host field: without the port when it is the scheme's own, and without the zone of a link-local address
    /// (<c>fe80::1%eth0</c>), which means something on this machine only and is no host to a peer (RFC 6874 section 3).
    /// </summary>
    public static string FormatField(string host, int port, int usualPort)
    {
        var zone = IsIPv6(host) ? host.IndexOf('%', StringComparison.Ordinal) : -1;
        var sent = zone < 0 ? host : host[..zone];
        return port == usualPort ? FormatHost(sent) : Format(sent, port);
    }

    public static bool IsIPv6(string text) =>
        AddressText.TryReadLocal(text, out IPAddress address) && address.AddressFamily == AddressFamily.InterNetworkV6;

    /// <summary>
    /// An IPv4 address or a DNS name. What only a lenient parser takes for an address is neither: a connection to "12001" would go to
    /// 0.0.46.225, and one to "010.0.0.1" or "0x8.1" to 8.0.0.1.
    /// </summary>
    public static bool IsHost(string text)
    {
        if (text.Length is 0 or > MaxHostLength)
        {
            return false;
        }

        foreach (Range range in text.AsSpan().Split('.'))
        {
            ReadOnlySpan<char> label = text.AsSpan(range);
            if (label.Length is 0 or > MaxLabelLength || label[0] == '-' || label[^1] == '-' || label.ContainsAnyExcept(_labelCharacters))
            {
                return false;
            }
        }

        bool isNumeric = text.All(static c => char.IsAsciiDigit(c) || c == '.');
        return (!isNumeric && !IPAddress.TryParse(text, out _)) || AddressText.TryRead(text, out _);
    }
}
