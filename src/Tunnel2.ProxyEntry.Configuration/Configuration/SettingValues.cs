using System.Buffers;
using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Parsers of single values. Each refusal ends a sentence that begins with the value in quotes.</summary>
internal static class SettingValues
{
    private static readonly SearchValues<char> _digitsAndDot = SearchValues.Create("0123456789.");

    private const string DurationForms = "use a number with a unit (500ms, 10s, 5m, 1h), hh:mm:ss, or off.";

    /// <summary>true, yes, on, 1 and their opposites, in any case.</summary>
    public static bool TryParseSwitch(string value, out bool result)
    {
        switch (value.Trim().ToLowerInvariant())
        {
            case "true" or "yes" or "on" or "1":
                result = true;
                return true;
            case "false" or "no" or "off" or "0":
                result = false;
                return true;
            default:
                result = false;
                return false;
        }
    }

    /// <summary>Parses a duration; <c>off</c> is <see cref="Timeout.InfiniteTimeSpan"/>. A bare number is refused: its unit is a guess.</summary>
    public static bool TryParseDuration(string value, out TimeSpan result, out string reason)
    {
        var text = value.AsSpan().Trim();
        reason = "";
        if (text.Equals("off", StringComparison.OrdinalIgnoreCase))
        {
            result = Timeout.InfiniteTimeSpan;
            return true;
        }

        result = default;
        if (text.Contains(':'))
        {
            // Without a colon TimeSpan would take "10" for ten days.
            reason = $"is not a duration; {DurationForms}";
            return !text.StartsWith('-') && TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out result);
        }

        var digits = text.IndexOfAnyExcept(_digitsAndDot);
        if (digits < 0)
        {
            reason = $"has no unit; {DurationForms}";
            return false;
        }

        var ticksPerUnit = text[digits..].Trim().ToString().ToLowerInvariant() switch
        {
            "ms" => TimeSpan.TicksPerMillisecond,
            "s" => TimeSpan.TicksPerSecond,
            "m" or "min" => TimeSpan.TicksPerMinute,
            "h" => TimeSpan.TicksPerHour,
            _ => 0,
        };
        if (ticksPerUnit == 0
            || !double.TryParse(text[..digits], NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var number))
        {
            reason = $"is not a duration; {DurationForms}";
            return false;
        }

        var ticks = number * ticksPerUnit;
        if (ticks >= TimeSpan.MaxValue.Ticks)
        {
            reason = "is too long.";
            return false;
        }

        result = TimeSpan.FromTicks((long)ticks);
        return true;
    }

    /// <summary>
    /// Parses <c>host:port</c>, where the host is an IPv4 address, an IPv6 address in brackets, <c>localhost</c> (127.0.0.1) or <c>*</c>
    /// (every address of the machine). Port 0 lets the system choose.
    /// </summary>
    public static bool TryParseListenAddress(string value, out IPEndPoint endPoint, out string reason)
    {
        endPoint = new IPEndPoint(IPAddress.None, 0);
        reason = "is not host:port, such as 127.0.0.1:12000, localhost:12000, *:12000 or [::1]:12000.";
        var text = value.AsSpan().Trim();
        var colon = text.LastIndexOf(':');
        if (colon <= 0)
        {
            return false;
        }

        if (!ushort.TryParse(text[(colon + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out var port))
        {
            reason = "has no port between 0 and 65535 at its end.";
            return false;
        }

        var host = text[..colon];
        IPAddress? address;
        if (host is "*")
        {
            // An IPv6 socket on :: also takes IPv4 connections; without IPv6 in the system there is only 0.0.0.0.
            address = Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any;
        }
        else if (host.Equals("localhost", StringComparison.OrdinalIgnoreCase))
        {
            address = IPAddress.Loopback;
        }
        else if (host is ['[', .. var inner, ']'])
        {
            if (!IPAddress.TryParse(inner, out address) || address.AddressFamily != AddressFamily.InterNetworkV6)
            {
                return false;
            }
        }
        else if (!IsDottedIPv4(host) || !IPAddress.TryParse(host, out address))
        {
            reason = host.Contains(':')
                ? "is not host:port; an IPv6 address stands in brackets, such as [::1]:12000."
                : "has a host that is no IP address; use one, localhost or *.";
            return false;
        }

        endPoint = new IPEndPoint(address, port);
        return true;
    }

    /// <summary>Parses an address (as a network of one) or a network in CIDR notation.</summary>
    public static bool TryParseNetwork(string value, out IPNetwork network, out string reason)
    {
        network = default;
        reason = "is neither an IP address nor a network such as 10.0.0.0/8.";
        var text = value.AsSpan().Trim();
        var slash = text.IndexOf('/');
        if (!IPAddress.TryParse(slash < 0 ? text : text[..slash], out var address)
            || (address.AddressFamily == AddressFamily.InterNetwork && !IsDottedIPv4(slash < 0 ? text : text[..slash])))
        {
            return false;
        }

        var maxBits = address.AddressFamily == AddressFamily.InterNetwork ? 32 : 128;
        var bits = maxBits;
        if (slash >= 0
            && (!int.TryParse(text[(slash + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out bits) || bits > maxBits))
        {
            reason = string.Create(CultureInfo.InvariantCulture, $"has a prefix length that is not between 0 and {maxBits}.");
            return false;
        }

        var masked = Mask(address, bits);
        if (!masked.Equals(address))
        {
            reason = string.Create(CultureInfo.InvariantCulture, $"has bits set behind its prefix; did you mean {masked}/{bits}?");
            return false;
        }

        network = new IPNetwork(address, bits);
        return true;
    }

    // IPAddress also accepts "1" and "0x7f.1"; in settings these are typing mistakes.
    private static bool IsDottedIPv4(ReadOnlySpan<char> text) =>
        text.Count('.') == 3 && !text.ContainsAnyExcept(_digitsAndDot);

    private static IPAddress Mask(IPAddress address, int bits)
    {
        var bytes = address.GetAddressBytes();
        for (var i = 0; i < bytes.Length; i++)
        {
            var kept = Math.Clamp(bits - (i * 8), 0, 8);
            bytes[i] &= (byte)(0xFF00 >> kept);
        }

        return new IPAddress(bytes);
    }
}
