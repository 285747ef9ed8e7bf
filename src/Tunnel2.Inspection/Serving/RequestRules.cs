using System.Globalization;
using Tunnel2.Inspection.Comparing;
using Tunnel2.Inspection.Exporting;

namespace Tunnel2.Inspection.Serving;

/// <summary>
/// What a request to the inspector may ask for. Anything else is refused: left out, it would answer a question that the caller did not ask.
/// Stateless.
/// </summary>
internal static class RequestRules
{
    /// <summary>How many exchanges a list has at most.</summary>
    public const int MostListed = 500;

    /// <summary>How many seconds a list waits at most for a change.</summary>
    public const int LongestWait = 25;

    /// <summary>
    /// The parameter with which a node asks for what a comparison needs of an exchange. It has the key of the digests, in hexadecimal. Who
    /// chooses the key could find out what is masked by trying, and so only nodes may.
    /// </summary>
    public const string Comparable = "comparable";

    private const int MostShown = 40;

    private static readonly string[] _filters = ["q", "method", "status", "kind", "reveal", "node"];
    private static readonly string[] _list = ["limit", "before", "since", "wait", .. _filters];
    private static readonly string[] _file = ["id", "lines", .. _filters];
    private static readonly string[] _ids = ["before", "since", "id"];
    private static readonly string[] _kinds = ["http", "websocket", "events", "upgrade"];

    /// <summary>Finds what cannot be followed.</summary>
    /// <param name="request">The request.</param>
    /// <param name="parts">The parts of its path.</param>
    /// <returns>The refusal; null where there is nothing to refuse, or no such path.</returns>
    public static InspectorResponse? Refuse(InspectorRequest request, string[] parts)
    {
        if (!request.Body.IsEmpty && !(request.Method == "POST" && parts is [.., "replay"]))
        {
            return InspectorResponse.Error(400, "body", "This takes no body.");
        }

        string[]? known = (request.Method, parts[3..]) switch
        {
            ("GET", []) => ["inspected"],
            ("GET", [_, "exchanges"]) => _list,
            ("GET", [_, "exchanges.har"]) => _file,
            ("DELETE", [_, "exchanges"]) => ["node"],
            ("GET", [_, "exchanges", _]) when request.IsOfNode => ["reveal", "node", Comparable],
            ("GET" or "POST", [_, "exchanges", _, ..]) => ["reveal", "node"],
            _ => null,
        };
        return known is null ? null : Refuse(request.Query, known);
    }

    /// <summary>Finds an id of a node, where there are no nodes.</summary>
    public static InspectorResponse? RefuseIdsOfNodes(InspectorRequest request)
    {
        foreach (var name in _ids)
        {
            if (request[name] is { Length: > 0 } value && NumberOf(value) is null)
            {
                return InspectorResponse.Error(400, "parameter", $"'{name}' is a number.");
            }
        }

        return null;
    }

    /// <summary>Finds a parameter of a query that is not known, or is given twice, or has a value that it cannot have.</summary>
    /// <param name="query">The query without its question mark.</param>
    /// <param name="known">The parameters that there are.</param>
    public static InspectorResponse? Refuse(string query, params ReadOnlySpan<string> known)
    {
        var seen = new HashSet<string>(StringComparer.Ordinal);
        foreach (var part in query.Split('&', StringSplitOptions.RemoveEmptyEntries))
        {
            var equals = part.IndexOf('=', StringComparison.Ordinal);
            var name = equals < 0 ? part : part[..equals];
            if (!known.Contains(name) || !seen.Add(name))
            {
                return InspectorResponse.Error(
                    400, "parameter", $"The parameter '{Short(name)}' is unknown here, or is given more than once.");
            }

            if (equals >= 0 && equals < part.Length - 1
                && FindMistake(name, Uri.UnescapeDataString(part[(equals + 1)..].Replace('+', ' '))) is { } mistake)
            {
                return InspectorResponse.Error(400, "parameter", $"'{name}' is {mistake}.");
            }
        }

        return null;
    }

    private static string? FindMistake(string name, string value) => name switch
    {
        "limit" when NumberOf(value) is not (>= 1 and <= MostListed) => FormattableString.Invariant($"a number from 1 to {MostListed}"),
        "wait" when NumberOf(value) is not <= LongestWait => FormattableString.Invariant($"a number from 0 to {LongestWait}"),
        "before" or "since" or "id" when !IsIds(value) => "a number",
        "lines" when value != "1" => "1",
        Comparable when value.Length != 2 * ComparedExchange.KeyLength || !value.All(char.IsAsciiHexDigit) => "a key in hexadecimal",
        "node" => "for the API of a cluster",
        "reveal" when value is not ("0" or "1") => "1 or 0",
        "inspected" when value != "true" => "true",
        "kind" when !_kinds.Contains(value, StringComparer.OrdinalIgnoreCase) => string.Join(", ", _kinds[..^1]) + " or " + _kinds[^1],
        "status" when !IsStatus(value) => "a status such as 404, 5xx, error or open",
        _ => null,
    };

    /// <summary>A number, or one for each node of a cluster; of a node that has not answered an x.</summary>
    private static bool IsIds(string value) => value.Split(ExchangeId.Comma).All(static part =>
        ExchangeId.Split(part) is var (node, number) && (NumberOf(number) is not null || (node is not null && number == "x")));

    private static bool IsStatus(string value) => value.ToLowerInvariant() is "error" or "open" or [>= '1' and <= '5', 'x', 'x']
        || NumberOf(value) is >= 100 and <= 999;

    private static long? NumberOf(string text) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;

    private static string Short(string name) =>
        new([.. (name.Length <= MostShown ? name : name[..MostShown]).Select(static c => char.IsControl(c) ? '?' : c)]);
}
