using System.Buffers;
using System.Globalization;
using System.Reflection;
using Microsoft.Net.Http.Headers;
using Tunnel2.Inspection.Serving;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Inspection;

/// <summary>
/// The inspector on the admin listener: its page below <c>/inspector/</c>, the same that an agent serves, its JSON, for requests that
/// <see cref="AdminEndpoints"/> has authorised, and <c>/api/v1/sessions/{name}/inspection</c>, which turns it on and off. Thread-safe.
/// </summary>
internal sealed class InspectionEndpoints : IDisposable
{
    private const string Page = "/inspector";

    /// <summary>How long an inspection lasts where nothing is said of it.</summary>
    public const int UsualMinutes = 10;

    /// <summary>How long one may last.</summary>
    public const int MostMinutes = 24 * 60;

    /// <summary>Of a domain.</summary>
    private const int LongestName = 253;

    private static readonly SearchValues<char> _nameCharacters =
        SearchValues.Create("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.*");

    private static readonly string _version =
        (typeof(InspectionEndpoints).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "0")
        .Split('+')[0];

    /// <summary>Changes with every change of the page or the program.</summary>
    public static string Build { get; } = InspectorApi.BuildOf(_version);

    private readonly EntryInspections _inspections;
    private readonly ISessionDirectory _directory;
    private readonly AdminAuthorization _authorization;
    private readonly InspectorApi _api;
    private readonly TimeProvider _time;

    public InspectionEndpoints(
        EntryInspections inspections, ISessionDirectory directory, AdminAuthorization authorization, InspectionAudit audit,
        TimeProvider time)
    {
        _time = time;
        _inspections = inspections;
        _directory = directory;
        _authorization = authorization;
        _api = new InspectorApi(() => _inspections.Sessions, _version, audit);
    }

    /// <summary>
    /// Answers requests for the page's files. They hold no data and need no token, as those of the dashboard. A name that others may have
    /// pointed here gets nothing.
    /// </summary>
    /// <returns>False when it is for another path.</returns>
    public async Task<bool> TryHandlePageAsync(HttpContext http)
    {
        var request = http.Request;
        if (!request.Path.StartsWithSegments(Page, StringComparison.Ordinal, out var rest))
        {
            return false;
        }

        await WriteAsync(http, FileFor(request, rest.Value)).ConfigureAwait(false);
        return true;
    }

    /// <summary>Answers; other paths get 404.</summary>
    public async Task HandleAsync(HttpContext http)
    {
        var request = http.Request;
        var parts = (request.Path.Value ?? "").Split('/', StringSplitOptions.RemoveEmptyEntries);
        if (parts is not ["api", "v1", "sessions", ..])
        {
            await AdminEndpoints.NotFoundAsync(http).ConfigureAwait(false);
            return;
        }

        var response = AdminOrigin.IsOfAnotherPage(request)
            ? InspectorResponse.Error(StatusCodes.Status403Forbidden, "origin", AdminOrigin.Text)
            : parts is ["api", "v1", "sessions", var name, "inspection"]
                ? Switch(http, name)
                : await AnswerAsync(http).ConfigureAwait(false);
        await WriteAsync(http, response).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public void Dispose() => _api.Dispose();

    private InspectorResponse FileFor(HttpRequest request, string? path)
    {
        if (_authorization.IsForeign(request))
        {
            return InspectorResponse.Text(StatusCodes.Status403Forbidden, AdminAuthorization.WrongHost);
        }

        if (!HttpMethods.IsGet(request.Method) && !HttpMethods.IsHead(request.Method))
        {
            return InspectorResponse.Text(StatusCodes.Status405MethodNotAllowed, "only GET and HEAD\n") with
            {
                Fields = [("Allow", "GET, HEAD")],
            };
        }

        // The page names its files relative to itself.
        return string.IsNullOrEmpty(path)
            ? InspectorResponse.Text(StatusCodes.Status308PermanentRedirect, "") with { Fields = [("Location", Page + "/")] }
            : PageFiles.Find(path) ?? InspectorResponse.Text(StatusCodes.Status404NotFound, "There is nothing here.\n");
    }

    private InspectorResponse Switch(HttpContext http, string name)
    {
        var by = NodeCaller.Describe(http);
        if (AdminBody.IsThere(http.Request))
        {
            return InspectorResponse.Error(StatusCodes.Status400BadRequest, "body", "This takes no body.");
        }

        var query = http.Request.QueryString.Value is [_, .. var rest] ? rest : "";
        if (RequestRules.Refuse(query, HttpMethods.IsPut(http.Request.Method) ? ["minutes", "node"] : ["node"]) is { } unknown)
        {
            return unknown;
        }

        if (HttpMethods.IsGet(http.Request.Method) || HttpMethods.IsHead(http.Request.Method))
        {
            var until = _inspections.UntilOf(name);

            // The dashboard asks about a session that may come yet.
            return until is null && !MayBeName(name) ? NoSession() : Answer(name, until);
        }

        if (HttpMethods.IsDelete(http.Request.Method))
        {
            return _inspections.Stop(name, by)
                ? new InspectorResponse { Status = StatusCodes.Status204NoContent, ContentType = "text/plain" }
                : InspectorResponse.Error(StatusCodes.Status404NotFound, "no-session", "No session of this name is inspected.");
        }

        string? text = http.Request.Query["minutes"];
        var minutes = UsualMinutes;
        if (!string.IsNullOrEmpty(text)
            && !(int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out minutes) && minutes is >= 1 and <= MostMinutes))
        {
            return InspectorResponse.Error(
                StatusCodes.Status400BadRequest, "minutes", FormattableString.Invariant($"'minutes' is a number from 1 to {MostMinutes}."));
        }

        // A session that is inspected may have its agent away, and come back.
        if (_inspections.UntilOf(name) is null)
        {
            if (_directory.Find(name, out var session) != NameState.Online)
            {
                return NoSession();
            }

            if (session!.Kind != SessionKind.Http)
            {
                return InspectorResponse.Error(
                    StatusCodes.Status409Conflict, "not-http", "Only sessions of HTTP are inspected: others have no requests.");
            }
        }

        return _inspections.TryStart(name, minutes, by) is { } end
            ? Answer(name, end)
            : InspectorResponse.Error(
                StatusCodes.Status409Conflict,
                "too-many",
                FormattableString.Invariant($"{EntryInspections.MostSessions} sessions are inspected already; end one of them."));
    }

    private static bool MayBeName(string name) =>
        name.Length <= LongestName && !name.AsSpan().ContainsAnyExcept(_nameCharacters);

    private static InspectorResponse NoSession() =>
        InspectorResponse.Error(StatusCodes.Status404NotFound, "no-session", "There is no session of this name.");

    /// <summary>Until when a session is inspected, and by which process; null: it is not.</summary>
    private InspectorResponse Answer(string name, DateTimeOffset? until) => InspectorResponse.Of(json =>
    {
        json.WriteStartObject();
        json.WriteString("name", name);
        if (until is { } time)
        {
            json.WriteString("until", time);
            json.WriteString("process", _inspections.Self.Process);
        }
        else
        {
            json.WriteNull("until");
        }

        json.WriteEndObject();
    });

    private async Task<InspectorResponse> AnswerAsync(HttpContext http)
    {
        var request = http.Request;
        ReadOnlyMemory<byte> body = default;
        if (AdminBody.IsThere(request))
        {
            if (!HttpMethods.IsPost(request.Method) || request.Path.Value?.EndsWith("/replay", StringComparison.Ordinal) != true)
            {
                return InspectorResponse.Error(StatusCodes.Status400BadRequest, "body", "This takes no body.");
            }

            (body, var problem) = await AdminBody.ReadAsync(http, InspectorApi.MaxRequestBody, _time).ConfigureAwait(false);
            if (problem is not null)
            {
                return new InspectorResponse
                {
                    Status = problem.Status,
                    ContentType = AdminProblem.ContentType,
                    Body = AdminProblem.Render(problem.Status, problem.Code, problem.Detail),
                    Fields = problem.EndsConnection ? [(HeaderNames.Connection, "close")] : [],
                };
            }
        }

        return await _api.HandleAsync(
            new InspectorRequest
            {
                Method = HttpMethods.IsHead(request.Method) ? "GET" : request.Method,
                Path = request.Path.Value ?? "",
                Query = request.QueryString.HasValue ? request.QueryString.Value![1..] : "",
                ContentType = request.ContentType ?? "",
                Body = body,
                From = NodeCaller.Describe(http),
                IsOfNode = NodeCaller.Of(http) is not null,
            },
            http.RequestAborted).ConfigureAwait(false);
    }

    private static async Task WriteAsync(HttpContext http, InspectorResponse answer)
    {
        var response = http.Response;
        response.StatusCode = answer.Status;
        foreach (var (name, value) in PageFiles.Fields.Concat(answer.Fields))
        {
            response.Headers[name] = value;
        }

        if (answer.Status == StatusCodes.Status204NoContent)
        {
            return;
        }

        response.ContentType = answer.ContentType;
        if (answer.WriteAsync is null)
        {
            response.ContentLength = answer.Body.Length;
        }

        if (HttpMethods.IsHead(http.Request.Method))
        {
            return;
        }

        await (answer.WriteAsync is { } write
            ? write(response.Body, http.RequestAborted)
            : response.Body.WriteAsync(answer.Body, http.RequestAborted).AsTask()).ConfigureAwait(false);
    }
}
