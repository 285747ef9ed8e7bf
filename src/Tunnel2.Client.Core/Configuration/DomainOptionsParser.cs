using Tunnel2.Policies.Reading;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Reads under which names and domains a tunnel is to be public: <c>--name</c> and <c>--domain</c>, a line each.</summary>
internal static class DomainOptionsParser
{
    /// <summary>The flag.</summary>
    public const string Flag = "--domain";

    private const int Most = 20;
    private const int LongestDomain = 253;
    private const int LongestLabel = 63;
    private const string Arrow = "=>";

    /// <summary>Reads the domains into the options, beside the names that are there.</summary>
    /// <returns>What is wrong, in one line; null: nothing.</returns>
    public static string? Read(string text, ref AgentOptions options)
    {
        var wanted = new List<WantedName>(options.Wanted);
        foreach (var entry in text.Split(['\n', ','], StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
        {
            var arrow = entry.IndexOf(Arrow, StringComparison.Ordinal);
            var domain = (arrow < 0 ? entry : entry[..arrow].TrimEnd()).TrimEnd('.').ToLowerInvariant();
            if (!IsDomain(domain.StartsWith("*.", StringComparison.Ordinal) ? domain[2..] : domain))
            {
                return $"'{domain}' is not a domain, " + (Nearest(domain) is { } nearest
                    ? $"did you mean '{nearest}'?"
                    : "as in app.example.org or *.example.org; international names need their xn-- form");
            }

            string? target = null;
            if (arrow >= 0 && TryReadTarget(entry[(arrow + Arrow.Length)..].TrimStart(), domain, out target) is { } mistake)
            {
                return $"{domain}: {mistake}";
            }

            wanted.Add(new WantedName(domain, target));
        }

        if (wanted.GroupBy(static one => one.Name).FirstOrDefault(static group => group.Count() > 1) is { } twice)
        {
            return $"'{twice.Key}' is given twice";
        }

        if (wanted.Count == options.Wanted.Count)
        {
            return "has no domain";
        }

        if (wanted.Find(one => LeadsBack(one, wanted)) is { } ring)
        {
            return $"{ring.Name}: its redirects lead back to it";
        }

        options = options with { Wanted = wanted };
        return wanted.Count > Most ? FormattableString.Invariant($"names and domains are more than {Most}") : null;
    }

    /// <summary>Reports what only all settings together show.</summary>
    public static void Check(AgentOptions options, List<OptionMistake> mistakes)
    {
        if (options.Kind is SessionKind.Tcp or SessionKind.Udp && options.Wanted.Any(static one => one.Name.Contains('.')))
        {
            mistakes.Add(new OptionMistake(Flag, "belongs to 'http' and 'tls': a public port has no domain"));
        }

        if (options.Kind != SessionKind.Http && options.Wanted.Any(static one => one.RedirectTo is not null))
        {
            mistakes.Add(new OptionMistake(Flag, "redirects only with 'http'"));
        }

        if (options.RemotePort != 0 && options.Wanted.Count > 1)
        {
            mistakes.Add(new OptionMistake("--name", "is given several times, but one port can have only one"));
        }
    }

    /// <summary>The options of each name. They share everything else.</summary>
    public static IReadOnlyList<AgentOptions> Split(AgentOptions options) => options.Wanted.Count == 0
        ? [options]
        :
        [
            .. options.Wanted.Select(one => options with
            {
                Name = one.Name,
                Wanted = [],
                Access = one.RedirectTo is null ? options.Access : RedirectTo(one.RedirectTo),
            }),
        ];

    /// <summary>Whether redirects, one after another, come to where they began. Another port may be another server's.</summary>
    private static bool LeadsBack(WantedName begin, List<WantedName> wanted)
    {
        var at = begin;
        for (var i = 0; i < wanted.Count && at?.RedirectTo is { } text; i++)
        {
            if (new Uri(text) is not { IsDefaultPort: true, Host: var host })
            {
                return false;
            }

            if (host == begin.Name)
            {
                return true;
            }

            at = wanted.Find(one => one.Name == host);
        }

        return false;
    }

    /// <summary>The server answers for such a domain: nothing of its visitors reaches the agent.</summary>
    private static AccessRules RedirectTo(string target)
    {
        var row = $$"""[{"redirect":"{{target}}","status":308,"keep-path":true}]""";
        var reading = PolicyReader.Read(System.Text.Encoding.ASCII.GetBytes(row));
        return new AccessRules { Policy = reading.Policy!.Text };
    }

    private static string? TryReadTarget(string text, string domain, out string? target)
    {
        var scheme = text.StartsWith("http://", StringComparison.OrdinalIgnoreCase) ? "http"
            : "https";
        var rest = text.StartsWith($"{scheme}://", StringComparison.OrdinalIgnoreCase) ? text[(scheme.Length + 3)..] : text;
        var mistake = HostPort.TrySplit(rest.TrimEnd('/'), out var host, out var port);
        host = host?.ToLowerInvariant() ?? "";
        target = port is null ? $"{scheme}://{host}" : FormattableString.Invariant($"{scheme}://{host}:{port}");
        return mistake is not null || !IsDomain(host)
            ? $"'{text}' is not where it can redirect to: another domain, as in example.org=>www.example.org"
            : domain.StartsWith('*') ? "a wildcard cannot redirect"
            : host == domain ? "it would redirect to itself"
            : null;
    }

    /// <summary>The domain of a URL, or the xn-- form of an international name; null: it has none.</summary>
    private static string? Nearest(string text)
    {
        var wildcard = text.StartsWith("*.", StringComparison.Ordinal) ? "*." : "";
        var rest = text[wildcard.Length..];
        return Uri.TryCreate(rest.Contains("://", StringComparison.Ordinal) ? rest : $"https://{rest}", UriKind.Absolute, out var url)
            && IsDomain(url.IdnHost)
            ? wildcard + url.IdnHost
            : null;
    }

    private static bool IsDomain(string text) =>
        text.Length is > 0 and <= LongestDomain
        && text.Contains('.')
        && !System.Net.IPAddress.TryParse(text, out _)
        && text.Split('.').All(static label => label.Length is > 0 and <= LongestLabel
            && label.All(static c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c) || c == '-')
            && label[0] != '-' && label[^1] != '-');
}
