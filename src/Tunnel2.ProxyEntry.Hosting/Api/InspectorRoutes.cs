using Tunnel2.Inspection.Serving;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// The operations of the inspector, which answers them by itself. A path that is not in this table does not reach it, so the document has
/// every path that there is. Immutable.
/// </summary>
internal static class InspectorRoutes
{
    private const string Session = ApiRoutes.Root + "/sessions/{name}";
    private const string Exchanges = Session + "/exchanges";
    private const string Exchange = Exchanges + "/{id}";

    private static readonly ApiParameter _reveal = new(
        "reveal", "string", "With '1': secrets too, which are masked otherwise; the log says so.");

    private static readonly ApiParameter _node = new("node", "string", "In a cluster: only what this node has.");

    private static readonly ApiParameter[] _filters =
    [
        new("q", "string", "A text that the exchange has."),
        new("method", "string", "The method."),
        new("status", "string", "The status: 404, 5xx, error or open."),
        new("kind", "string", "http, websocket, events or upgrade."),
        _reveal,
    ];

    /// <summary>All of them.</summary>
    public static IReadOnlyList<ApiOperation> All { get; } =
    [
        Of("getInspection", HttpMethods.Get, Session + "/inspection", "Until when a session is inspected.", "'name', and 'until' or null."),
        Of(
            "beginInspection", HttpMethods.Put, Session + "/inspection", "Inspects a session for a time; again: for another time.",
            "'name' and 'until', and in a cluster 'follows': whether all nodes know it.",
            new ApiParameter("minutes", "integer", "How long, 1 to 1440; missing: 10.")),
        Of(
            "endInspection", HttpMethods.Delete, Session + "/inspection", "Ends the inspection, and drops what was kept.", "Nothing.")
            with { Status = StatusCodes.Status204NoContent },
        Of(
            "listExchanges", HttpMethods.Get, Exchanges, "The exchanges that are kept, the newest first.",
            "'exchanges', 'version', 'more', and how much is kept.",
            [
                new("limit", "integer", "How many at most, up to 500; missing: 100."),
                new("before", "string", "The id before which the page begins; in a cluster the 'next' of the page before."),
                new("since", "string", "A 'version': answers when there is another one."),
                new("wait", "integer", "With 'since': for how many seconds at most, up to 25."),
                .. _filters,
            ]),
        Of("dropExchanges", HttpMethods.Delete, Exchanges, "Drops all that is kept.", "Nothing.")
            with { Status = StatusCodes.Status204NoContent },
        Of(
            "exportExchanges", HttpMethods.Get, Session + "/exchanges.har", "The exchanges that are kept, as a HAR file (1.2).",
            "The file.", [new("id", "string", "Only this one."), .. _filters]),
        Of(
            "getExchange", HttpMethods.Get, Exchange, "All of an exchange.", "'request' and 'response', with fields, body and trailers.",
            _reveal),
        Of("getRequestBody", HttpMethods.Get, Exchange + "/request/body", "The request's body, decoded.", "The body.", _reveal)
            with { AnswerType = "application/octet-stream" },
        Of("getResponseBody", HttpMethods.Get, Exchange + "/response/body", "The response's body, decoded.", "The body.", _reveal)
            with { AnswerType = "application/octet-stream" },
        Of(
            "copyExchange", HttpMethods.Get, Exchange + "/copy/{format}", "The request as a command or code: curl, httpie or csharp.",
            "'text', and a 'note' or null.", _reveal),
        Of(
            "compareExchanges", HttpMethods.Get, Exchange + "/compare/{other}", "How two exchanges differ.", "The differences.", _reveal),
        Of(
            "replayExchange", HttpMethods.Post, Exchange + "/replay", "Sends a request again, as it was or changed.",
            "'via', 'note', 'exchange' and 'comparison'.", _reveal)
            with
            {
                OwnBody = InspectorApi.MaxRequestBody,
                MayLackBody = true,
                OwnBodyWords = "What to change: 'method', 'target', 'fields' and 'trailers', 'body' or 'bodyBase64'. Without it: nothing.",
            },
    ];

    private static ApiOperation Of(string id, string method, string path, string summary, string answer, params ApiParameter[] query) =>
        new()
        {
            Id = id,
            Method = method,
            Path = path,
            Summary = summary,
            AnswerWords = answer,
            Query = [.. query, _node],
            Spread = id switch
            {
                "getInspection" or "beginInspection" or "endInspection" => OperationSpread.Inspection,
                "listExchanges" => OperationSpread.ExchangeList,
                "dropExchanges" => OperationSpread.EachNode,
                "exportExchanges" => OperationSpread.ExchangeFile,
                _ => OperationSpread.Exchange,
            },
            RunAsync = null,
        };
}
