using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Fronts;

/// <summary>
/// Completes a trusted proxy's fields about its visitor. Many proxies send only some of them. A service that reads another one must not get
/// the values of the proxy's hop to us: a port that no visitor can reach, or <c>http</c> instead of <c>https</c>.
/// </summary>
internal static class ProxiedVisitor
{
    /// <summary>Digits of the largest port.</summary>
    public const int LongestPort = 5;

    /// <summary>Whether a trusted proxy says that its visitor uses HTTPS: <c>X-Forwarded-Proto</c>, else <c>Forwarded</c>.</summary>
    /// <param name="exchange">The request.</param>
    public static bool SaysHttps(VisitorExchange exchange)
    {
        Span<byte> value = stackalloc byte[512];
        var length = exchange.CopyField("X-Forwarded-Proto"u8, value);
        if (length >= 0)
        {
            return Ascii.EqualsIgnoreCase(First(value[..length]).Trim(" \t"u8), "https"u8);
        }

        length = exchange.CopyField("Forwarded"u8, value);
        if (length < 0)
        {
            return false;
        }

        ReadOnlySpan<byte> visitor = First(value[..length]);
        foreach (var part in visitor.Split((byte)';'))
        {
            var pair = visitor[part].Trim(" \t"u8);
            var equals = pair.IndexOf((byte)'=');
            if (equals > 0 && Ascii.EqualsIgnoreCase(pair[..equals], "proto"u8))
            {
                return Ascii.EqualsIgnoreCase(pair[(equals + 1)..].Trim((byte)'"'), "https"u8);
            }
        }

        return false;
    }

    private static ReadOnlySpan<byte> First(ReadOnlySpan<byte> list)
    {
        var comma = list.IndexOf((byte)',');
        return comma < 0 ? list : list[..comma];
    }

    /// <summary>The port that the visitor called, if the proxy does not say it: the one in the host, or the scheme's default.</summary>
    /// <param name="host">The visitor's Host.</param>
    /// <param name="scheme">The visitor's scheme.</param>
    /// <param name="digits">Room for <see cref="LongestPort"/> bytes.</param>
    public static ReadOnlySpan<byte> Port(ReadOnlySpan<byte> host, ReadOnlySpan<byte> scheme, Span<byte> digits)
    {
        var colon = host.LastIndexOf((byte)':');
        if (colon >= 0
            && ushort.TryParse(host[(colon + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out var port)
            && port.TryFormat(digits, out var length, default, CultureInfo.InvariantCulture))
        {
            return digits[..length];
        }

        return Ascii.EqualsIgnoreCase(scheme, "https"u8) ? "443"u8 : "80"u8;
    }

    /// <summary>
    /// <c>Forwarded</c> made from <c>X-Forwarded-*</c>, as RFC 7239 section 7.4 wants it: the visitor's element has host and scheme, the
    /// proxies' elements have only their address.
    /// </summary>
    /// <param name="addresses">The addresses, as in <c>X-Forwarded-For</c>, the last proxy's included.</param>
    /// <param name="host">The visitor's Host.</param>
    /// <param name="scheme">The visitor's scheme.</param>
    public static string Forwarded(string addresses, string host, string scheme)
    {
        var text = new StringBuilder();
        foreach (var range in addresses.AsSpan().Split(','))
        {
            var first = text.Length == 0;
            text.Append(first ? "for=" : ", for=").Append(Node(addresses.AsSpan(range).Trim()));
            if (first)
            {
                text.Append(";host=\"").Append(Quotable(host)).Append("\";proto=").Append(IsToken(scheme) ? scheme : "unknown");
            }
        }

        return text.ToString();
    }

    /// <summary>Appends a field's value to a list (RFC 9110 section 5.3), as much as fits. Characters are bytes.</summary>
    /// <param name="value">The value.</param>
    /// <param name="destination">The memory of the list.</param>
    /// <param name="written">How many bytes the list already has.</param>
    /// <returns>How many bytes were added.</returns>
    public static int AddElement(ReadOnlySpan<char> value, Span<byte> destination, int written)
    {
        var separator = Separator(value.Length, destination, written);
        var rest = destination[(written + separator)..];
        return separator + Encoding.Latin1.GetBytes(value[..Math.Min(value.Length, rest.Length)], rest);
    }

    /// <summary>The same for a value in bytes.</summary>
    public static int AddElement(ReadOnlySpan<byte> value, Span<byte> destination, int written)
    {
        var separator = Separator(value.Length, destination, written);
        var rest = destination[(written + separator)..];
        var length = Math.Min(value.Length, rest.Length);
        value[..length].CopyTo(rest);
        return separator + length;
    }

    private static int Separator(int length, Span<byte> destination, int written)
    {
        if (written == 0 || length == 0 || !", "u8.TryCopyTo(destination[written..]))
        {
            return 0;
        }

        return 2;
    }

    private static string Node(ReadOnlySpan<char> address)
    {
        var parsed = AddressText.ReadForwarded(address);
        return parsed is null ? "unknown"
            : parsed.AddressFamily == AddressFamily.InterNetworkV6 ? $"\"[{parsed}]\""
            : parsed.ToString();
    }

    private static string Quotable(string host) => host.AsSpan().IndexOfAny('"', '\\') < 0 ? host : "";

    private static bool IsToken(string scheme) => scheme.Length > 0 && scheme.All(char.IsAsciiLetterOrDigit);
}
