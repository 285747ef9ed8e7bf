using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
using Microsoft.Net.Http.Headers;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Inspection;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// The API below <c>/api/v1</c>, for requests that <see cref="AdminEndpoints"/> has authorised. It matches a request with the table of
/// operations, refuses what the operation does not know, and reads the body. What belongs to the inspector goes there. Thread-safe.
/// </summary>
internal sealed class ApiEndpoints : IDisposable
{
    /// <summary>The largest body of a request, bytes, where the operation says no other number.</summary>
    public const int MaxBody = 64 * 1024;

    /// <summary>How many operations run at once; the others are to come again.</summary>
    public const int MostAtOnce = 8;

    /// <summary>The longest part of a call that an error repeats, characters.</summary>
    public const int MaxShown = 200;

    private static readonly string[] _conditions = [HeaderNames.IfMatch, HeaderNames.IfNoneMatch, HeaderNames.IfUnmodifiedSince];

    private readonly SemaphoreSlim _places = new(MostAtOnce);
    private readonly ApiRoutes _routes;
    private readonly InspectionEndpoints _inspection;
    private readonly TimeProvider _time;
    private readonly IClusterApi? _cluster;

    public ApiEndpoints(ApiRoutes routes, InspectionEndpoints inspection, TimeProvider time, IClusterApi? cluster = null)
    {
        _cluster = cluster;
        _routes = routes;
        _inspection = inspection;
        _time = time;
    }

    /// <summary>Answers; paths outside the API get 404.</summary>
    public Task HandleAsync(HttpContext http)
    {
        // What the API shows has no versions: a change that was to be made under a condition would be made in any case.
        if (!HttpMethods.IsGet(http.Request.Method) && !HttpMethods.IsHead(http.Request.Method)
            && _conditions.FirstOrDefault(http.Request.Headers.ContainsKey) is { } condition)
        {
            return AdminProblem.WriteAsync(
                http, StatusCodes.Status412PreconditionFailed, "condition", $"Nothing here is changed under a condition ({condition}).");
        }

        var path = (http.Request.Path.Value ?? "").Split('/');
        return _cluster is { IsOn: true }
            && _routes.Find(http.Request.Method, path) is { Spread: not OperationSpread.Here } operation
                ? _cluster.HandleAsync(http, operation, path, HandleHereAsync)
                : HandleHereAsync(http);
    }

    /// <summary>Answers with what this node itself has. A call of another node gets no more than what nodes ask each other for.</summary>
    public Task HandleHereAsync(HttpContext http)
    {
        var path = http.Request.Path.Value ?? "";
        if (!path.StartsWith(AdminProblem.Path, StringComparison.Ordinal))
        {
            return AdminEndpoints.NotFoundAsync(http);
        }

        var parts = path.Split('/');
        if (NodeCaller.Of(http) is not null && _routes.Find(http.Request.Method, parts) is not { Spread: not OperationSpread.Here })
        {
            return AdminProblem.WriteAsync(
                http, StatusCodes.Status403Forbidden, "not-for-nodes", "Nodes do not ask each other for this.");
        }

        if (_cluster is not { IsOn: true } && http.Request.Query["node"].ToString().Length > 0)
        {
            return AdminProblem.WriteAsync(
                http, StatusCodes.Status400BadRequest, "parameter", "'node' is for a cluster, of which this server is no node.");
        }

        if (!IsForInspector(http.Request, parts))
        {
            return AnswerAsync(http, path);
        }

        // What a page of another origin asks for is refused as such, with any method.
        return Find(http.Request.Method, parts, out _, out var problem) is not null || AdminOrigin.IsOfAnotherPage(http.Request)
            ? _inspection.HandleAsync(http)
            : WriteAsync(http, problem!);
    }

    /// <inheritdoc/>
    public void Dispose() => _places.Dispose();

    private bool IsForInspector(HttpRequest request, string[] path) => path is ["", "api", "v1", "sessions"]
        ? request.Query["inspected"] == "true"
        : _routes.All.Any(operation => operation.RunAsync is null && operation.Matches(path, out _));

    private async Task AnswerAsync(HttpContext http, string path)
    {
        ApiAnswer answer;
        try
        {
            answer = await DecideAsync(http, path.Split('/')).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (http.RequestAborted.IsCancellationRequested)
        {
            // The caller has left.
            return;
        }

        await WriteAsync(http, answer).ConfigureAwait(false);
    }

    private async ValueTask<ApiAnswer> DecideAsync(HttpContext http, string[] path)
    {
        var request = http.Request;
        if (AdminOrigin.IsOfAnotherPage(request))
        {
            return ApiAnswer.Problem(StatusCodes.Status403Forbidden, "origin", AdminOrigin.Text);
        }

        if (Find(request.Method, path, out var name, out var problem) is not { } operation)
        {
            return problem!;
        }

        if (operation.MistakeOf(request.Query) is { } mistake)
        {
            return ApiAnswer.Problem(StatusCodes.Status400BadRequest, "parameter", mistake);
        }

        object? body = null;
        if (operation.Body is not null || operation.OwnBody > 0)
        {
            (body, problem) = await ReadAsync(http, operation).ConfigureAwait(false);
            if (problem is not null)
            {
                return problem;
            }
        }
        else if (AdminBody.IsThere(request))
        {
            return ApiAnswer.Problem(StatusCodes.Status400BadRequest, "body", "This takes no body.");
        }

        if (!await _places.WaitAsync(TimeSpan.Zero, http.RequestAborted).ConfigureAwait(false))
        {
            return ApiAnswer.Problem(StatusCodes.Status503ServiceUnavailable, "busy", "As many calls run as may; try again.") with
            {
                Field = (HeaderNames.RetryAfter, "1"),
            };
        }

        try
        {
            return await operation.RunAsync!(new ApiCall(http, name, body)).ConfigureAwait(false);
        }
        finally
        {
            _places.Release();
        }
    }

    private ApiOperation? Find(string method, string[] path, out string name, out ApiAnswer? problem)
    {
        problem = null;
        name = "";
        List<string>? others = null;
        foreach (var operation in _routes.All)
        {
            if (!operation.Matches(path, out var value))
            {
                continue;
            }

            if (operation.Method == method || (operation.Method == HttpMethods.Get && method == HttpMethods.Head))
            {
                name = value;
                return operation;
            }

            (others ??= []).AddRange(operation.Method == HttpMethods.Get ? [HttpMethods.Get, HttpMethods.Head] : [operation.Method]);
        }

        problem = others is null
            ? ApiAnswer.Problem(
                StatusCodes.Status404NotFound, "not-found", $"There is nothing here; {ApiRoutes.DocumentPath} describes what there is.")
            : ApiAnswer.Problem(
                StatusCodes.Status405MethodNotAllowed, "method", $"This is for {string.Join(", ", others)}.") with
            {
                Field = (HeaderNames.Allow, string.Join(", ", others)),
            };
        return null;
    }

    private async ValueTask<(object? Body, ApiAnswer? Problem)> ReadAsync(HttpContext http, ApiOperation operation)
    {
        var request = http.Request;
        if (!MediaTypeHeaderValue.TryParse(request.ContentType, out var mediaType)
            || !mediaType.MediaType.Equals("application/json", StringComparison.OrdinalIgnoreCase)
            || (mediaType.Charset.Length > 0
                && !HeaderUtilities.RemoveQuotes(mediaType.Charset).Equals("utf-8", StringComparison.OrdinalIgnoreCase)))
        {
            return (null, ApiAnswer.Problem(
                StatusCodes.Status415UnsupportedMediaType, "not-json", "The body has to be application/json in UTF-8."));
        }

        var (body, problem) = await AdminBody.ReadAsync(
            http, operation.OwnBody > 0 ? operation.OwnBody : MaxBody, _time).ConfigureAwait(false);
        return problem is not null ? (null, ApiAnswer.NotRead(problem))
            : operation.Body is { } type ? Parse(body.Span, type)
            : (body, null);
    }

    private static (object? Body, ApiAnswer? Problem) Parse(ReadOnlySpan<byte> json, Type type)
    {
        var form = ApiJson.Requests.GetTypeInfo(type);
        try
        {
            if (JsonSerializer.Deserialize(json, form) is { } body)
            {
                return (body, null);
            }
        }
        catch (JsonException exception)
        {
            return (null, ApiAnswer.Problem(
                StatusCodes.Status400BadRequest,
                "malformed",
                exception.Path is null or "$" && MissingIn(json, form) is { } missing
                    ? $"The body lacks the field '{missing}'."
                    : $"The body does not fit at '{Shown(exception.Path ?? "$")}': it is not JSON there, or a field is missing, unknown, "
                    + "given twice or of another type."));
        }

        return (null, ApiAnswer.Problem(StatusCodes.Status400BadRequest, "malformed", "The body is null."));
    }

    /// <summary>The first field that a body of JSON has to have and has not; null: that is not its mistake.</summary>
    private static string? MissingIn(ReadOnlySpan<byte> json, JsonTypeInfo form)
    {
        try
        {
            var reader = new Utf8JsonReader(json);
            using var document = JsonDocument.ParseValue(ref reader);
            return document.RootElement is { ValueKind: JsonValueKind.Object } body
                ? form.Properties.FirstOrDefault(one => one.IsRequired && !body.TryGetProperty(one.Name, out _))?.Name
                : null;
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException)
        {
            // The second: a name that is not Unicode.
            return null;
        }
    }

    private static string Shown(string text) => PlainText.Clean(text, MaxShown);

    private static async Task WriteAsync(HttpContext http, ApiAnswer answer)
    {
        var response = http.Response;
        response.StatusCode = answer.Status;
        response.Headers[HeaderNames.CacheControl] = "no-store";
        response.Headers[HeaderNames.XContentTypeOptions] = "nosniff";
        if (answer.Field is { } field)
        {
            response.Headers[field.Name] = field.Value;
        }

        if (answer.Body.IsEmpty)
        {
            return;
        }

        response.ContentType = answer.ContentType;
        response.ContentLength = answer.Body.Length;
        if (!HttpMethods.IsHead(http.Request.Method))
        {
            await response.Body.WriteAsync(answer.Body, http.RequestAborted).ConfigureAwait(false);
        }
    }
}
