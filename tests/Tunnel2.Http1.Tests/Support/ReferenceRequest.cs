using System.Globalization;
using System.Text.RegularExpressions;

namespace Tunnel2.Http1.Tests.Support;

/// <summary>
/// A second, slow reading of the rules for requests, written from the RFC's grammar with regular expressions and without a look at the
/// parser: what both agree on is unlikely to be a slip of either.
/// </summary>
internal static partial class ReferenceRequest
{
    private const string Token = @"[!#$%&'*+\-.^_`|~0-9A-Za-z]+";

    /// <summary>The message's reading, or null if it is refused or incomplete. Limits are not looked at.</summary>
    public static Reading? Read(string message)
    {
        Match head = Head().Match(message);
        if (!head.Success)
        {
            return null;
        }

        string method = head.Groups["method"].Value;
        string target = head.Groups["target"].Value;
        bool isHttp11 = head.Groups["minor"].Value != "0";
        var fields = new List<(string Name, string Value)>();
        for (int i = 0; i < head.Groups["name"].Captures.Count; i++)
        {
            fields.Add((head.Groups["name"].Captures[i].Value, head.Groups["value"].Captures[i].Value.Trim(' ', '\t')));
        }

        string[] Values(string name) =>
            [.. fields.Where(f => string.Equals(f.Name, name, StringComparison.OrdinalIgnoreCase)).Select(f => f.Value)];

        string[] hosts = Values("Host");
        string[] lengths = Values("Content-Length");
        string[] codings = Values("Transfer-Encoding");
        string[] connection =
        [
            .. Values("Connection").SelectMany(v => v.Split(',')).Select(v => v.Trim(' ', '\t')).Where(v => v.Length > 0),
        ];
        Match absolute = Absolute().Match(target);
        bool valid = method != "CONNECT"
            && (target.StartsWith('/') || (target == "*" && method == "OPTIONS") || absolute.Success)
            && hosts.Length <= 1
            && (hosts.Length == 1 || !isHttp11)
            && hosts.All(IsHost)
            && (!absolute.Success || (IsHost(absolute.Groups["authority"].Value)
                && hosts.All(h => string.Equals(h, absolute.Groups["authority"].Value, StringComparison.OrdinalIgnoreCase))))
            && lengths.Length <= 1
            && lengths.All(l => Length().IsMatch(l) && long.TryParse(l, NumberStyles.None, CultureInfo.InvariantCulture, out _))
            && (codings.Length == 0 || (codings.Length == 1
                && string.Equals(codings[0], "chunked", StringComparison.OrdinalIgnoreCase)
                && isHttp11
                && lengths.Length == 0))
            && connection.All(o => IsToken().IsMatch(o))
            && !fields.Any(f => Lookalike().IsMatch(f.Name))
            && method.Length <= 32;
        long length = lengths.Length == 1 && valid ? long.Parse(lengths[0], NumberStyles.None, CultureInfo.InvariantCulture) : 0;
        BodyKind body = codings.Length > 0 ? BodyKind.Chunked : length > 0 ? BodyKind.Length : BodyKind.None;
        bool Has(string option) => connection.Contains(option, StringComparer.OrdinalIgnoreCase);
        return valid && (method != "TRACE" || body == BodyKind.None)
            ? new Reading(
                method, target, isHttp11, head.Length, [.. fields], body, length, !Has("close") && (isHttp11 || Has("keep-alive")))
            : null;
    }

    private static bool IsHost(string host)
    {
        Match match = Host().Match(host);
        return match.Success
            && (match.Groups["port"].Length == 0 || int.Parse(match.Groups["port"].Value, CultureInfo.InvariantCulture) < 65536);
    }

    [GeneratedRegex(
        @"\A(?:\r\n)?(?<method>" + Token + @") (?<target>[!-""$-\[\]-~]*(?:\?[!-""$-~]*)?) HTTP/1\.(?<minor>[0-9])\r\n"
        + @"(?:(?<name>" + Token + @"):(?<value>[\t\x20-\x7E\x80-\xFF]*)\r\n)*\r\n",
        RegexOptions.CultureInvariant)]
    private static partial Regex Head();

    [GeneratedRegex(@"\A(?:content[^a-z0-9-]length|transfer[^a-z0-9-]encoding)\z", RegexOptions.CultureInvariant | RegexOptions.IgnoreCase)]
    private static partial Regex Lookalike();

    [GeneratedRegex(@"\Ahttps?://(?<authority>[^/?]*)", RegexOptions.CultureInvariant | RegexOptions.IgnoreCase)]
    private static partial Regex Absolute();

    [GeneratedRegex(@"\A(?:[A-Za-z0-9._~-]+|\[(?=[^\]]*:)[0-9A-Fa-f.:]{2,}\])(?::(?<port>[0-9]{0,5}))?\z", RegexOptions.CultureInvariant)]
    private static partial Regex Host();

    [GeneratedRegex(@"\A(?:0|[1-9][0-9]*)\z", RegexOptions.CultureInvariant)]
    private static partial Regex Length();

    [GeneratedRegex(@"\A" + Token + @"\z", RegexOptions.CultureInvariant)]
    private static partial Regex IsToken();

    /// <summary>What a request says.</summary>
    internal sealed record Reading(
        string Method, string Target, bool IsHttp11, int HeadLength, (string Name, string Value)[] Fields, BodyKind Body, long Length,
        bool KeepAlive);
}
