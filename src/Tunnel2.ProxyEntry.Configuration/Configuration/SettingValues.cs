using System.Buffers;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Parsers of single values, without spaces around them. Each returns the mistake, as a sentence that begins with the value, or null.
/// </summary>
internal static class SettingValues
{
    private static readonly SearchValues<char> _digitsAndDot = SearchValues.Create("0123456789.");

    private const string ListenForms = "such as 127.0.0.1:12000, localhost:12000, *:12000 or [::1]:12000.";
    private const string DurationForms = "use a number with a unit (500ms, 10s, 5m, 1h, 30d), hh:mm:ss, or off.";

    /// <summary>Any text.</summary>
    public static string? ParseText(string text, out string? value)
    {
        value = text;
        return null;
    }

    /// <summary>The name of a field of HTTP.</summary>
    public static string? ParseFieldName(string text, out string? value)
    {
        value = text;
        return text.Length <= 64 && text.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_')
            ? null
            : "is not the name of a header: letters, digits, - and _.";
    }

    /// <summary>A name of a host, without a port.</summary>
    public static string? ParseHostName(string text, out string value)
    {
        value = text;
        return text.Length is > 0 and <= 253 && text.All(static c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.')
            ? null
            : "is not the name of a host: letters, digits, -, _ and dots, without a port.";
    }

    /// <summary>true, yes, on, 1 and their opposites, in any case.</summary>
    public static string? ParseSwitch(string text, out bool value)
    {
        value = text.ToLowerInvariant() is "true" or "yes" or "on" or "1";
        return value || text.ToLowerInvariant() is "false" or "no" or "off" or "0" ? null : "is neither true nor false.";
    }

    /// <summary>A whole number in a range.</summary>
    public static string? ParseNumber(string text, int least, int most, out int value) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out value)
            ? Range(value, least, most)
            : "is not a whole number.";

    /// <summary>A whole number in a range, or a word, for which the result is null.</summary>
    public static string? ParseNumberOr(string text, string word, long least, long most, out long? value)
    {
        value = null;
        if (text.Equals(word, StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        if (!long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number))
        {
            return $"is neither a whole number nor {word}.";
        }

        value = number;
        return Range(number, least, most, $" (or {word})");
    }

    /// <summary>A share of the whole: 0 to 1.</summary>
    public static string? ParseShare(string text, bool mayBeZero, out double value)
    {
        if (!double.TryParse(text, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out value))
        {
            return "is not a number such as 0.01.";
        }

        return value <= 1 && (value > 0 || mayBeZero) ? null : mayBeZero ? "is not between 0 and 1." : "is not above 0 and up to 1.";
    }

    /// <summary>A number of bytes, or of KB, MB or GB of 1024.</summary>
    public static string? ParseSize(string text, long least, out long value)
    {
        var shift = text.Length < 2 ? 0 : text[^2..].ToUpperInvariant() switch { "KB" => 10, "MB" => 20, "GB" => 30, _ => 0 };
        var digits = shift == 0 ? text.AsSpan() : text.AsSpan(0, text.Length - 2).TrimEnd();
        if (!long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out value) || value > long.MaxValue >> shift)
        {
            return "is not a size; use a number of bytes, or one with KB, MB or GB (of 1024).";
        }

        value <<= shift;
        return value >= least ? null : string.Create(CultureInfo.InvariantCulture, $"is less than {least} bytes.");
    }

    /// <summary>A duration in a range; <c>off</c> is <see cref="Timeout.InfiniteTimeSpan"/>.</summary>
    public static string? ParseDuration(string text, string least, string most, bool mayBeOff, out TimeSpan value)
    {
        if (text.Equals("off", StringComparison.OrdinalIgnoreCase))
        {
            value = Timeout.InfiniteTimeSpan;
            return mayBeOff ? null : "is not possible here: there is always a limit.";
        }

        if (ParseDuration(text, out value) is { } mistake)
        {
            return mistake;
        }

        _ = ParseDuration(least, out var shortest);
        _ = ParseDuration(most, out var longest);
        return value >= shortest && value <= longest ? null : $"is not between {least} and {most}{(mayBeOff ? " (or off)" : "")}.";
    }

    /// <summary>A duration. A number without a unit is refused.</summary>
    private static string? ParseDuration(string text, out TimeSpan value)
    {
        value = default;
        if (text.Contains(':'))
        {
            // Without a colon TimeSpan would take "10" for ten days.
            return !text.StartsWith('-') && TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out value)
                ? null
                : $"is not a duration; {DurationForms}";
        }

        var digits = text.AsSpan().IndexOfAnyExcept(_digitsAndDot);
        if (digits < 0)
        {
            return $"has no unit; {DurationForms}";
        }

        var ticksPerUnit = text[digits..].Trim().ToLowerInvariant() switch
        {
            "ms" => TimeSpan.TicksPerMillisecond,
            "s" => TimeSpan.TicksPerSecond,
            "m" or "min" => TimeSpan.TicksPerMinute,
            "h" => TimeSpan.TicksPerHour,
            "d" => TimeSpan.TicksPerDay,
            _ => 0,
        };
        if (ticksPerUnit == 0
            || !double.TryParse(text.AsSpan(0, digits), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var number))
        {
            return $"is not a duration; {DurationForms}";
        }

        var ticks = number * ticksPerUnit;
        if (ticks >= TimeSpan.MaxValue.Ticks)
        {
            return "is too long.";
        }

        value = TimeSpan.FromTicks((long)ticks);
        return null;
    }

    /// <summary><see cref="ParseListen"/>, or <c>off</c>, which is null.</summary>
    public static string? ParseListenOrOff(string text, out IPEndPoint? value)
    {
        value = null;
        return text.Equals("off", StringComparison.OrdinalIgnoreCase) ? null : ParseListen(text, out value);
    }

    /// <summary>
    /// <c>host:port</c>, where the host is an IPv4 address, an IPv6 address in brackets, <c>localhost</c> (127.0.0.1) or <c>*</c>
    /// (every address of the machine). Port 0 lets the system choose.
    /// </summary>
    public static string? ParseListen(string text, out IPEndPoint value)
    {
        value = new IPEndPoint(IPAddress.None, 0);
        var colon = text.LastIndexOf(':');
        if (colon <= 0)
        {
            return $"is not host:port, {ListenForms}";
        }

        if (!ushort.TryParse(text.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out var port))
        {
            return "has no port between 0 and 65535 at its end.";
        }

        var host = text.AsSpan(0, colon);
        IPAddress address;
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
            if (!AddressText.TryReadLocal(inner, out address) || address.AddressFamily != AddressFamily.InterNetworkV6)
            {
                return $"is not host:port, {ListenForms}";
            }
        }
        else if (host.Contains(':') || !AddressText.TryRead(host, out address))
        {
            return host.Contains(':')
                ? "is not host:port; an IPv6 address needs brackets, such as [::1]:12000."
                : "has a host that is no IP address; use one, localhost or *.";
        }

        value = new IPEndPoint(address, port);
        return null;
    }

    /// <summary>An address in the forms of <see cref="ParseListen"/>, without a port; IPv6 also without brackets.</summary>
    public static string? ParseAddress(string text, out IPAddress value)
    {
        var host = text.Contains(':') && !text.StartsWith('[') ? $"[{text}]" : text;
        var mistake = ParseListen($"{host}:0", out var endPoint);
        value = endPoint.Address;
        return mistake is null ? null : "is not an IP address, localhost or *; a port does not belong to it.";
    }

    /// <summary>An address (as a network of one) or a network in CIDR notation.</summary>
    public static string? ParseNetwork(string text, out IPNetwork value)
    {
        var mistake = AddressText.ReadNetwork(text, out value);
        return mistake is null || mistake.EndsWith('?') ? mistake : mistake + ".";
    }

    private static string? Range(long value, long least, long most, string otherwise = "") =>
        value >= least && value <= most
            ? null
            : string.Create(CultureInfo.InvariantCulture, $"is not between {least} and {most}{otherwise}.");
}
