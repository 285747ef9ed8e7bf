using System.Globalization;
using System.Text.Json;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Comparing;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Replays;

namespace Tunnel2.Inspection.Serving;

/// <summary>
/// Answers the inspector's requests under <c>/api/v1/</c>, from any server that takes them. What costs more than a moment has a limit of
/// how many run at once. Thread-safe.
/// </summary>
internal sealed class InspectorApi : IDisposable
{
    /// <summary>How much a body may have that changes a replay, beyond what is kept of bodies.</summary>
    public const int MaxRequestBody = 2 * 1024 * 1024;

    private const int UsuallyListed = 100;
    private const int MostReplays = 4;
    private const int MostSearches = 2;
    private static readonly TimeSpan _longestWait = TimeSpan.FromSeconds(RequestRules.LongestWait);

    private readonly Func<IReadOnlyList<IInspectedSession>> _sessions;
    private readonly string _version;
    private readonly string _build;
    private readonly IInspectorAudit? _audit;
    private readonly SemaphoreSlim _replays = new(MostReplays);
    private readonly SemaphoreSlim _searches = new(MostSearches);

    /// <param name="sessions">The sessions there are.</param>
    /// <param name="version">The program's version.</param>
    /// <param name="audit">Learns of replays and of secrets that were shown; null where the caller is the owner of both.</param>
    public InspectorApi(Func<IReadOnlyList<IInspectedSession>> sessions, string version, IInspectorAudit? audit = null)
    {
        _sessions = sessions;
        _version = version;
        _build = BuildOf(version);
        _audit = audit;
    }

    /// <summary>Changes with every change of the page or the program.</summary>
    public static string BuildOf(string version) => $"{version}-{PageFiles.Build}";

    /// <summary>Answers a request whose sender was found to be allowed.</summary>
    public async Task<InspectorResponse> HandleAsync(InspectorRequest request, CancellationToken cancellationToken)
    {
        var parts = request.Path.Split('/', StringSplitOptions.RemoveEmptyEntries);
        if (parts is not ["api", "v1", "sessions", ..])
        {
            return NotFound();
        }

        if (RequestRules.Refuse(request, parts) is { } refusal)
        {
            return refusal;
        }

        if (parts.Length == 3)
        {
            return request.Method == "GET" ? Sessions() : NotAllowed("GET");
        }

        if (parts.Length < 5 || _sessions().FirstOrDefault(session => session.Name == parts[3]) is not { } found)
        {
            return InspectorResponse.Error(404, "no-session", "No session of this name is inspected.");
        }

        if (found.Store.Node is null && RequestRules.RefuseIdsOfNodes(request) is { } ofNodes)
        {
            return ofNodes;
        }

        var response = await AnswerAsync(found, parts, request, cancellationToken).ConfigureAwait(false);
        if (request.Reveals && response.Status == 200)
        {
            _audit?.SecretsShown(found, WhatIsShown(parts), request.From);
        }

        return response;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _replays.Dispose();
        _searches.Dispose();
    }

    private async Task<InspectorResponse> AnswerAsync(
        IInspectedSession found, string[] parts, InspectorRequest request, CancellationToken cancellationToken) =>
        parts[4] switch
        {
            "exchanges" when parts.Length == 5 && request.Method == "DELETE" => Clear(found),
            "exchanges" when parts.Length == 5 => request.Method == "GET"
                ? await ListAsync(found, request, cancellationToken).ConfigureAwait(false)
                : NotAllowed("GET, DELETE"),
            "exchanges.har" when parts.Length == 5 => request.Method == "GET" ? Har(found, request) : NotAllowed("GET"),
            "exchanges" => await OneAsync(found, parts, request, cancellationToken).ConfigureAwait(false),
            _ => NotFound(),
        };

    /// <summary>What an answer shows, for the audit; the path was found to be one that there is.</summary>
    private static string WhatIsShown(string[] parts) => parts[4..] switch
    {
        ["exchanges"] => "the list",
        ["exchanges.har"] => "the HAR file",
        [_, var id, "replay"] => $"the replay of exchange {Shown(id)}",
        [_, var id, "compare", var other] => $"exchanges {Shown(id)} and {Shown(other)}",
        [_, var id, "copy", var format] => $"exchange {Shown(id)} as {format}",
        [_, var id, var side, "body"] => $"the {side} body of exchange {Shown(id)}",
        [_, var id, ..] => $"exchange {Shown(id)}",
        _ => "the list",
    };

    private async Task<InspectorResponse> OneAsync(
        IInspectedSession session, string[] parts, InspectorRequest request, CancellationToken cancellationToken)
    {
        var node = session.Store.Node;
        if (ExchangeId.Read(parts[5], node) is not { } id)
        {
            return NotFound();
        }

        if (session.Store.Find(id) is not { } capture)
        {
            return InspectorResponse.Error(404, "no-exchange", "This exchange is no longer kept, or never was.");
        }

        var rules = RulesOf(session, request);
        switch (parts[6..])
        {
            case ["replay"]:
                return request.Method == "POST"
                    ? await ReplayAsync(session, capture, request, cancellationToken).ConfigureAwait(false)
                    : NotAllowed("POST");
            case var _ when request.Method != "GET":
                return NotAllowed("GET");
            case [] when request[RequestRules.Comparable] is { Length: > 0 } key:
                return InspectorResponse.Of(ComparedExchange.Of(capture, rules, Convert.FromHexString(key)).Write);
            case []:
                return InspectorResponse.Of(json => ExchangeJson.WriteDetail(json, capture, rules));
            case ["request", "body"]:
                return Body(BodyView.OfRequest(capture, rules));
            case ["response", "body"]:
                return Body(BodyView.OfResponse(capture, rules));
            case ["copy", var format] when CopyFormats.All.Contains(format):
                var (text, note) = CopyFormats.Write(format, CopySource.Of(capture, OriginOf(session, capture), rules));
                return InspectorResponse.Of(json =>
                {
                    json.WriteStartObject();
                    json.WriteString("text", text);
                    json.WriteString("note", note);
                    json.WriteEndObject();
                });
            case ["compare", var other] when ExchangeId.Read(other, node) is { } otherId:
                return session.Store.Find(otherId) is { } second
                    ? InspectorResponse.Of(json => ExchangeComparison.Write(json, capture, second, rules))
                    : InspectorResponse.Error(404, "no-exchange", "The other exchange is no longer kept.");
            default:
                return NotFound();
        }
    }

    private InspectorResponse Sessions() => InspectorResponse.Of(json =>
    {
        json.WriteStartObject();
        json.WriteString("build", _build);
        json.WriteStartArray("sessions");
        foreach (var session in _sessions())
        {
            json.WriteStartObject();
            json.WriteString("name", session.Name);
            json.WriteString("upstream", session.Upstream);
            json.WriteStartArray("urls");
            foreach (var url in session.PublicUrls)
            {
                json.WriteStringValue(url);
            }

            json.WriteEndArray();
            json.WriteNumber("bodyLimit", session.Store.Limits.BodyBytes);
            WriteUntil(json, session);
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    });

    private async Task<InspectorResponse> ListAsync(
        IInspectedSession session, InspectorRequest request, CancellationToken cancellationToken)
    {
        var store = session.Store;
        if (ExchangeId.Read(request["since"], store.Node) is { } since && store.Version == since && Number(request["wait"]) is { } seconds)
        {
            var wait = TimeSpan.FromSeconds(Math.Min(seconds, _longestWait.TotalSeconds));
            using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, request.Gone);
            await store.WaitForChangeAsync(since, wait, either.Token).ConfigureAwait(false);
        }

        var filter = new ExchangeFilter(request);
        if (filter.IsSearch && !await _searches.WaitAsync(_longestWait, cancellationToken).ConfigureAwait(false))
        {
            return Busy();
        }

        try
        {
            return List(session, request, filter);
        }
        finally
        {
            if (filter.IsSearch)
            {
                _searches.Release();
            }
        }
    }

    private InspectorResponse List(IInspectedSession session, InspectorRequest request, ExchangeFilter filter)
    {
        var store = session.Store;
        var rules = RulesOf(session, request);
        var version = store.Version;
        var most = (int)Math.Clamp(Number(request["limit"]) ?? UsuallyListed, 1, RequestRules.MostListed);
        var all = store.Latest(ExchangeId.Read(request["before"], store.Node) ?? 0);
        var found = all.Where(capture => filter.Passes(capture, session.Rules)).Take(most + 1).ToList();
        var (dropped, skipped) = store.Lost;
        return InspectorResponse.Of(json =>
        {
            json.WriteStartObject();
            json.WriteString("build", _build);
            ExchangeId.Write(json, "version", store.Node, version);
            WriteUntil(json, session);
            if (session.IsCutOff)
            {
                json.WriteBoolean("cutOff", true);
            }

            if (store.Process is { } process)
            {
                json.WriteString("process", process);
            }

            json.WriteNumber("bytes", store.Bytes);
            json.WriteNumber("limitBytes", store.Limits.Bytes);
            json.WriteNumber("dropped", dropped);
            json.WriteNumber("skipped", skipped);
            json.WriteBoolean("more", found.Count > most);
            json.WriteStartArray("exchanges");
            foreach (var capture in found.Take(most))
            {
                ExchangeJson.WriteSummary(json, capture, rules);
            }

            json.WriteEndArray();
            json.WriteEndObject();
        });
    }

    private InspectorResponse Har(IInspectedSession session, InspectorRequest request)
    {
        var rules = RulesOf(session, request);
        var filter = new ExchangeFilter(request);
        var isOfOne = request["id"] is { Length: > 0 };
        var only = ExchangeId.Read(request["id"], session.Store.Node);
        var captures = session.Store.Latest().Reverse().Where(
            capture => (!isOfOne || capture.Id == only) && filter.Passes(capture, session.Rules));
        if (request["lines"] == "1")
        {
            return new InspectorResponse
            {
                Status = 200,
                ContentType = "application/x-ndjson",
                WriteAsync = (output, cancellationToken) => HarWriter.WriteLinesAsync(
                    output, captures, rules, capture => OriginOf(session, capture), cancellationToken),
            };
        }

        return new InspectorResponse
        {
            Status = 200,
            ContentType = "application/json; charset=utf-8",
            Fields = [("Content-Disposition", $"attachment; filename=\"{session.Name}.har\"")],
            WriteAsync = (output, cancellationToken) => HarWriter.WriteAsync(
                output, captures, rules, capture => OriginOf(session, capture), _version, cancellationToken),
        };
    }

    private static InspectorResponse Body(BodyView body)
    {
        if (body.Withheld is { } withheld)
        {
            return InspectorResponse.Error(403, "withheld", withheld);
        }

        // Only pictures keep their type: nothing of a visitor or service may become a page of this origin.
        return new InspectorResponse
        {
            Status = 200,
            ContentType = body.Kind == BodyKind.Image ? body.MediaType : "application/octet-stream",
            Body = body.Content,
            Fields = body.Kind == BodyKind.Image ? [] : [("Content-Disposition", "attachment; filename=\"body\"")],
        };
    }

    private async Task<InspectorResponse> ReplayAsync(
        IInspectedSession session, ExchangeCapture capture, InspectorRequest request, CancellationToken cancellationToken)
    {
        JsonDocument? edits = null;
        if (!request.Body.IsEmpty)
        {
            // Only a script of this origin can send this type; a form of another page cannot.
            if (!request.ContentType.StartsWith("application/json", StringComparison.OrdinalIgnoreCase))
            {
                return InspectorResponse.Error(415, "not-json", "The changes have to be application/json.");
            }

            try
            {
                edits = JsonDocument.Parse(request.Body, new JsonDocumentOptions { MaxDepth = 8, AllowDuplicateProperties = false });
            }
            catch (Exception exception) when (exception is JsonException or InvalidOperationException)
            {
                // The latter: escapes of a name are half a character.
                return InspectorResponse.Error(400, "malformed", "The changes are not JSON of Unicode, or have a member twice.");
            }
        }

        using (edits)
        {
            if (ReplayPlanner.TryPlan(capture, edits?.RootElement, out var replay) is { } refusal)
            {
                return InspectorResponse.Error(refusal.Code == "malformed" ? 400 : 409, refusal.Code, refusal.Message);
            }

            if (!await _replays.WaitAsync(TimeSpan.Zero, cancellationToken).ConfigureAwait(false))
            {
                return Busy();
            }

            try
            {
                // Before it is sent: what may have been carried out is known, however it ends.
                _audit?.ReplaySent(session, capture.Id, edits is not null, request.From);
                var result = await session.ReplayAsync(replay!, cancellationToken).ConfigureAwait(false);
                return Answer(session, capture, result, RulesOf(session, request));
            }
            finally
            {
                _replays.Release();
            }
        }
    }

    private static InspectorResponse Answer(IInspectedSession session, ExchangeCapture first, ReplayResult result, MaskingRules? rules)
    {
        if (result.Capture is not { } second)
        {
            return InspectorResponse.Error(502, "replay-failed", result.Error ?? "The replay failed.");
        }

        return InspectorResponse.Of(json =>
        {
            json.WriteStartObject();
            json.WriteString("session", session.Name);
            ExchangeId.Write(json, "id", second.Node, second.Id);
            json.WriteString("via", result.Via);
            json.WriteString("note", result.Note);
            json.WriteString("error", result.Error);
            json.WritePropertyName("exchange");
            ExchangeJson.WriteDetail(json, second, rules);
            json.WritePropertyName("comparison");
            ExchangeComparison.Write(json, first, second, rules);
            json.WriteEndObject();
        });
    }

    private static InspectorResponse Clear(IInspectedSession session)
    {
        session.Store.Clear();
        return new InspectorResponse { Status = 204, ContentType = "text/plain" };
    }

    private static void WriteUntil(Utf8JsonWriter json, IInspectedSession session)
    {
        if (session.Until is { } until)
        {
            json.WriteString("until", until);
        }
    }

    private static string OriginOf(IInspectedSession session, ExchangeCapture capture) =>
        (PublicUrl.AllOf(session.PublicUrls, HeadText.Of(capture.Request.Authority), capture.Request.IsSecure).FirstOrDefault()
            ?? (Uri.TryCreate(session.Upstream, UriKind.Absolute, out var upstream) ? upstream : null))
        ?.GetLeftPart(UriPartial.Authority) ?? "http://localhost";

    private static MaskingRules? RulesOf(IInspectedSession session, InspectorRequest request) =>
        request.Reveals ? null : session.Rules;

    private static long? Shown(string id) => Number(ExchangeId.Split(id).Number);

    private static long? Number(string? text) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;

    private static InspectorResponse NotFound() => InspectorResponse.Error(404, "not-found", "There is nothing here.");

    private static InspectorResponse Busy() => InspectorResponse.Error(429, "busy", "As many of these run as may; try again.");

    private static InspectorResponse NotAllowed(string methods) =>
        InspectorResponse.Error(405, "method", "This is for other methods.") with { Fields = [("Allow", methods)] };
}
