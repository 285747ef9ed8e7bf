using System.Globalization;
using Tunnel2.Policies.Tables;

namespace Tunnel2.Policies.Reading;

/// <summary>Reads the limits of a row: rate, size of bodies, time.</summary>
internal sealed class LimitReader
{
    private readonly RowSource _row;

    public LimitReader(RowSource row) => _row = row;

    /// <summary>Reads the limit of requests; null without one.</summary>
    public PolicyRate? ReadRate()
    {
        if (_row.Find("rate-limit") is not { } node)
        {
            return null;
        }

        if (node.Kind != PolicyNodeKind.Table)
        {
            _row.Report(node, "rate-limit: is not a table: { \"rate\": \"10/second\", \"burst\": 20, \"per\": \"address\" }");
            return null;
        }

        _row.ReportTwice(node, "rate-limit: ");
        _row.ReportUnknown(node, "rate-limit", "rate", "burst", "per", "per-header");
        var text = _row.TextOf(node, "rate", "rate-limit") ?? "";
        var perSecond = RateOf(text, out var count);
        if (perSecond < 0)
        {
            _row.Report(node, "rate-limit: the rate is not a number up to 1000000 per second, minute or hour, such as 10/second");
        }
        else if (count == 0)
        {
            _row.Report(node, "rate-limit: a rate of zero lets no request in; that is 'deny'");
        }

        var burst = count;
        if (RowSource.Member(node, "burst") is { } number)
        {
            if (!RowSource.TryReadNumber(number, out burst) || burst is < 0 or > 1_000_000)
            {
                _row.Report(number, "rate-limit: the burst is not a number up to 1000000");
            }
            else if (burst == 0)
            {
                _row.Report(number, "rate-limit: a burst of zero lets no request in; that is 'deny'");
            }
        }

        var header = _row.TextOf(node, "per-header", "rate-limit");
        var per = _row.TextOf(node, "per", "rate-limit");
        if (header is not null && !FieldNames.IsToken(header))
        {
            _row.Report(node, "rate-limit: per-header is not the name of a header");
        }
        else if (header is not null && FieldNames.FindConditionObstacle(header) is { } obstacle)
        {
            _row.Report(node, $"rate-limit: per-header: {header} {obstacle}");
        }

        if (header is not null && per is not null)
        {
            _row.Report(node, "rate-limit: has both per and per-header");
        }

        if (per is not null and not "address" and not "tunnel")
        {
            _row.Report(node, "rate-limit: per is address or tunnel; per-header takes the name of a header");
        }

        var key = header is not null ? PolicyRateKey.Header : per == "tunnel" ? PolicyRateKey.Tunnel : PolicyRateKey.Address;
        return new PolicyRate(perSecond, burst, key, header ?? "", text);
    }

    /// <summary>Reads the limit of a body in bytes; null without one.</summary>
    public long? ReadBodyLimit()
    {
        if (_row.Find("body-limit") is not { } node)
        {
            return null;
        }

        var (number, factor) = node.Text switch
        {
            { Length: > 2 } text when text.EndsWith("KB", StringComparison.OrdinalIgnoreCase) => (text[..^2], 1L << 10),
            { Length: > 2 } text when text.EndsWith("MB", StringComparison.OrdinalIgnoreCase) => (text[..^2], 1L << 20),
            { Length: > 2 } text when text.EndsWith("GB", StringComparison.OrdinalIgnoreCase) => (text[..^2], 1L << 30),
            var text => (text, 1L),
        };
        if (node.Kind is not (PolicyNodeKind.Text or PolicyNodeKind.Number)
            || !long.TryParse(number.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var value)
            || value > (1L << 40) / factor)
        {
            _row.Report(node, "body-limit: is not a number of bytes, or of KB, MB or GB, up to 1024GB");
            return null;
        }

        if (value == 0)
        {
            _row.Report(node, "body-limit: a limit of zero refuses every body; that is 'deny' with the methods that have one");
        }

        return value * factor;
    }

    /// <summary>Reads the limit of time; null without one.</summary>
    public TimeSpan? ReadTimeout()
    {
        if (_row.Find("timeout") is not { } node)
        {
            return null;
        }

        var (number, factor) = node.Text switch
        {
            { Length: > 1 } text when text[^1] is 's' => (text[..^1], 1),
            { Length: > 1 } text when text[^1] is 'm' => (text[..^1], 60),
            _ => ("", 1),
        };
        if (node.Kind != PolicyNodeKind.Text
            || !int.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out var value)
            || value is < 1 or > 3600
            || value * factor > 3600)
        {
            _row.Report(node, "timeout: is not 1s to 3600s, or 1m to 60m");
            return null;
        }

        return TimeSpan.FromSeconds(value * factor);
    }

    private static double RateOf(string text, out int count)
    {
        count = -1;
        var slash = text.IndexOf('/', StringComparison.Ordinal);
        if (slash < 0
            || !int.TryParse(text.AsSpan(0, slash).TrimEnd(), NumberStyles.None, CultureInfo.InvariantCulture, out count)
            || count > 1_000_000)
        {
            return -1;
        }

        return text[(slash + 1)..].Trim() switch
        {
            "s" or "second" => count,
            "m" or "minute" => count / 60.0,
            "h" or "hour" => count / 3600.0,
            _ => -1,
        };
    }
}
