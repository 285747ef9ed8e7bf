using System.Globalization;
using System.Text;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>A call that came to this node's listener, was allowed, and may be about what other nodes have.</summary>
/// <param name="http">The request.</param>
/// <param name="operation">What it asks for.</param>
/// <param name="path">The segments of its path, the first of which is empty.</param>
/// <param name="self">This node.</param>
/// <param name="here">Answers with what this node has.</param>
internal sealed class ClusterCall(HttpContext http, ApiOperation operation, string[] path, string self, Func<HttpContext, Task> here)
{
    /// <summary>Parameters with numbers of a node's store.</summary>
    private static readonly string[] _numbers = ["before", "since", "id"];

    /// <summary>The request.</summary>
    public HttpContext Http => http;

    /// <summary>What it asks for.</summary>
    public ApiOperation Operation => operation;

    /// <summary>Answers with what this node has.</summary>
    public Func<HttpContext, Task> Here => here;

    /// <summary>Ends when the caller has left.</summary>
    public CancellationToken Left => http.RequestAborted;

    /// <summary>The name of the session that it is about; null: all.</summary>
    public string? Session => path.Length > 4 ? path[4] : null;

    /// <summary>The method, which is GET for HEAD too.</summary>
    public string Method => HttpMethods.IsHead(http.Request.Method) ? HttpMethods.Get : http.Request.Method;

    /// <summary>Whether it is the inspector's.</summary>
    public bool IsOfInspector => operation.RunAsync is null || Parameter("inspected") == "true";

    /// <summary>The segments of its path after the session's name.</summary>
    public ReadOnlySpan<string> Rest => path.AsSpan(Math.Min(5, path.Length));

    /// <summary>A parameter; null where it is missing or empty.</summary>
    public string? Parameter(string name) => http.Request.Query[name].ToString() is { Length: > 0 } text ? text : null;

    /// <summary>A number of the query.</summary>
    public int? Number(string name) =>
        int.TryParse(Parameter(name), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;

    /// <summary>Its path and query for a node. A number without a node is this node's, as it was before there were several.</summary>
    /// <param name="changes">Parameters that are set, or left out where they are null.</param>
    public string Target(params ReadOnlySpan<(string Name, string? Value)> changes) =>
        TargetOf(http.Request.Path.ToUriComponent(), isWhole: true, changes);

    /// <summary>The path of something of its session, without its query.</summary>
    /// <param name="rest">What follows the session's name.</param>
    /// <param name="changes">Parameters that are set.</param>
    public string SessionTarget(string rest, params ReadOnlySpan<(string Name, string? Value)> changes) =>
        TargetOf($"{ApiRoutes.Root}/sessions/{Uri.EscapeDataString(Session!)}{rest}", isWhole: false, changes);

    /// <summary>Answers.</summary>
    public Task WriteAsync(int status, string contentType, ReadOnlyMemory<byte> body)
    {
        var response = http.Response;
        response.StatusCode = status;
        foreach (var (name, value) in PageFiles.Fields)
        {
            response.Headers[name] = value;
        }

        if (status == StatusCodes.Status204NoContent)
        {
            return Task.CompletedTask;
        }

        response.ContentType = contentType;
        response.ContentLength = body.Length;
        return HttpMethods.IsHead(http.Request.Method) ? Task.CompletedTask : response.Body.WriteAsync(body, Left).AsTask();
    }

    /// <summary>Answers with an error.</summary>
    public Task FailAsync(int status, string code, string text) =>
        WriteAsync(status, AdminProblem.ContentType, AdminProblem.Render(status, code, text));

    /// <summary>Answers where no node has done it: with the reason that says most, and with who was not heard.</summary>
    public Task FailAsync(IReadOnlyList<NodeReply> replies)
    {
        var best = replies.FirstOrDefault(
            static reply => reply is { IsLost: false, IsDone: false, Status: not StatusCodes.Status404NotFound });
        if (best is null && replies.FirstOrDefault(static reply => reply.IsLost) is { } lost)
        {
            return FailAsync(
                StatusCodes.Status503ServiceUnavailable, "node-lost",
                $"No node that answers has it, and node {lost.Node} does not answer: {lost.Problem}.");
        }

        best ??= replies.FirstOrDefault(static reply => reply is { IsLost: false, IsDone: false });
        return best is null
            ? FailAsync(StatusCodes.Status502BadGateway, "node-answer", "A node has answered something else.")
            : WriteAsync(best.Status, best.ContentType, best.Body);
    }

    private string TargetOf(string of, bool isWhole, ReadOnlySpan<(string Name, string? Value)> changes)
    {
        var target = new StringBuilder(of);
        var separator = '?';
        if (isWhole)
        {
            foreach (var (name, values) in http.Request.Query)
            {
                if (!IsIn(name, changes))
                {
                    foreach (var value in values)
                    {
                        Append(name, _numbers.Contains(name) ? Qualified(value ?? "") : value ?? "");
                    }
                }
            }
        }

        foreach (var (name, value) in changes)
        {
            if (value is not null)
            {
                Append(name, value);
            }
        }

        return target.ToString();

        void Append(string name, string value)
        {
            target.Append(separator).Append(Uri.EscapeDataString(name)).Append('=').Append(Uri.EscapeDataString(value));
            separator = '&';
        }
    }

    private static bool IsIn(string name, ReadOnlySpan<(string Name, string? Value)> changes)
    {
        foreach (var change in changes)
        {
            if (change.Name == name)
            {
                return true;
            }
        }

        return false;
    }

    private string Qualified(string number) =>
        number.Length > 0 && number.All(char.IsAsciiDigit) ? $"{self}{ExchangeId.Separator}{number}" : number;
}
