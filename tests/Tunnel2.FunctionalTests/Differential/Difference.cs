namespace Tunnel2.FunctionalTests.Differential;

/// <summary>
/// Something that may differ between an exchange with the service itself and one through the tunnel. What no row names has to be the same,
/// byte for byte.
/// </summary>
/// <param name="What">What differs.</param>
/// <param name="Why">Why it may.</param>
/// <param name="Where">For which pairs of versions.</param>
internal sealed record Difference(string What, string Why, Func<Pair, bool> Where)
{
    private const string Origin = "http://web.localhost";

    private static readonly string[] _ofOneHop =
        ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "proxy-authorization", "proxy-authenticate"];

    private static readonly string[] _forwarding =
        ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "forwarded"];

    /// <summary>Changes what was seen without the tunnel to what has to be seen through it.</summary>
    public Func<SeenMessage, SeenMessage> Direct { get; init; } = static seen => seen;

    /// <summary>Removes from what was seen through the tunnel what only the tunnel adds; with what was seen without it.</summary>
    public Func<SeenMessage, SeenMessage, SeenMessage> Through { get; init; } = static (seen, _) => seen;

    /// <summary>The rows.</summary>
    public static Difference[] All { get; } =
    [
        new(
            "fields of one hop: `Connection` and what it lists, `Keep-Alive`, `Proxy-Connection`, `Proxy-Authorization`, "
                + "`Transfer-Encoding`, `Upgrade` except that of a 426, and `TE` except `trailers`",
            "RFC 9110 section 7.6.1: they end at ProxyEntry, and each hop has its own. Section 15.5.22: a 426 has to say what it wants",
            static _ => true)
        {
            Direct = static seen => seen with { Fields = [.. seen.Fields.Where(field => !IsOfOneHop(seen, field))] },
            Through = static (seen, _) =>
                seen with { Fields = [.. seen.Fields.Where(static field => !Is(field, "connection") && !Is(field, "transfer-encoding"))] },
        },
        new(
            "`Upgrade` of a 426 is removed",
            "RFC 9113 section 8.2.2: HTTP/2 has no such field",
            static pair => pair.VisitorIsHttp2)
        {
            Direct = static seen => seen with { Fields = [.. seen.Fields.Where(static field => !Is(field, "upgrade"))] },
        },
        new(
            "`X-Forwarded-For`, `-Host`, `-Proto`, `-Port` and `Forwarded` of a request are added",
            "ProxyEntry says who called",
            static _ => true)
        {
            Through = static (seen, _) => seen with
            {
                Fields = [.. seen.Fields.Where(static field => !_forwarding.Any(name => Is(field, name)))],
            },
        },
        new(
            "an absolute target arrives as path and query; that of `OPTIONS` without both as `*`",
            "RFC 9112 sections 3.2.2 and 3.2.4: only a proxy that forwards to a proxy keeps it",
            static pair => !pair.VisitorIsHttp2)
        {
            Direct = static seen => seen with
            {
                Start =
                [
                    .. seen.Start.Select(static line => line == $"target {Origin}" ? "target *"
                        : line.Replace($"target {Origin}", "target ", StringComparison.Ordinal)),
                ],
            },
        },
        new(
            "names are in lower case",
            "RFC 9113 section 8.2.1",
            static pair => pair.HasHttp2)
        {
            Direct = Lower,
            Through = static (seen, _) => Lower(seen),
        },
        new(
            "the order of fields with different names; that of one name's values is kept",
            "RFC 9110 section 5.3: it means nothing. Kestrel's HTTP/2 keeps fields by their names",
            static pair => pair.VisitorIsHttp2)
        {
            Direct = Sort,
            Through = static (seen, _) => Sort(seen),
        },
        new(
            "the reason phrase is not there",
            "HTTP/2 has none",
            static pair => pair.HasHttp2)
        {
            Direct = WithoutReason,
            Through = static (seen, _) => WithoutReason(seen),
        },
        new(
            "`Date` of a response is added where the service sends none",
            "RFC 9110 section 6.6.1",
            static _ => true)
        {
            Through = static (seen, direct) => direct.Fields.Any(static field => Is(field, "date"))
                ? seen
                : seen with { Fields = [.. seen.Fields.Where(static field => !Is(field, "date"))] },
        },
        new(
            "`Content-Length: 0` of a response is added where there is no body and no length",
            "Kestrel does it for visitors of HTTP/2",
            static pair => pair.VisitorIsHttp2)
        {
            Through = static (seen, direct) => direct.Body.Length > 0 || direct.Fields.Any(static field => Is(field, "content-length"))
                ? seen
                : seen with { Fields = [.. seen.Fields.Where(static field => !(Is(field, "content-length") && field.Value == "0"))] },
        },
    ];

    /// <summary>The names of the pairs in which it may differ.</summary>
    public string Pairs => All.Length > 0 && Pair.All.All(Where) ? "all" : string.Join(", ", Pair.All.Where(Where));

    /// <summary>Both sides as they have to be the same.</summary>
    public static (List<string> Direct, List<string> Through) Compare(Pair pair, SeenMessage direct, SeenMessage through)
    {
        foreach (var row in All.Where(row => row.Where(pair)))
        {
            through = row.Through(through, direct);
            direct = row.Direct(direct);
        }

        return (direct.ToLines(), through.ToLines());
    }

    private static bool IsOfOneHop(SeenMessage seen, (string Name, string Value) field) =>
        (_ofOneHop.Any(name => Is(field, name)) && !(Is(field, "upgrade") && seen.Start.Contains("status 426")))
        || (Is(field, "te") && field.Value != "trailers")
        || seen.Fields.Where(static other => Is(other, "connection"))
            .SelectMany(static other => other.Value.Split(','))
            .Any(option => Is(field, option.Trim()) && !Is(field, "upgrade") && !(Is(field, "te") && field.Value == "trailers"));

    private static bool Is((string Name, string Value) field, string name) => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase);

    private static SeenMessage Lower(SeenMessage seen) => seen with
    {
        Start = [.. seen.Start.Select(static line => line.StartsWith("interim ", StringComparison.Ordinal) ? LowerNames(line) : line)],
        Fields = [.. seen.Fields.Select(static field => (field.Name.ToLowerInvariant(), field.Value))],
        Trailers = [.. seen.Trailers.Select(static field => (field.Name.ToLowerInvariant(), field.Value))],
    };

    private static string LowerNames(string interim)
    {
        var begin = interim.IndexOf(": ", StringComparison.Ordinal) + 2;
        return interim[..begin] + string.Join(" | ", interim[begin..].Split(" | ").Select(LowerName));

        static string LowerName(string field) => field.IndexOf(':', StringComparison.Ordinal) is >= 0 and var colon
            ? field[..colon].ToLowerInvariant() + field[colon..]
            : field;
    }

    private static SeenMessage Sort(SeenMessage seen) => seen with
    {
        Fields = [.. seen.Fields.OrderBy(static field => field.Name, StringComparer.Ordinal)],
        Trailers = [.. seen.Trailers.OrderBy(static field => field.Name, StringComparer.Ordinal)],
    };

    private static SeenMessage WithoutReason(SeenMessage seen) => seen with
    {
        Start = [.. seen.Start.Where(static line => !line.StartsWith("reason ", StringComparison.Ordinal))],
    };
}
