using System.Text.Json;
using Microsoft.Net.Http.Headers;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>An answer of the API. Immutable.</summary>
internal sealed record ApiAnswer
{
    private ApiAnswer()
    {
    }

    /// <summary>The status.</summary>
    public int Status { get; private init; }

    /// <summary>The media type of the body.</summary>
    public string ContentType { get; private init; } = "application/json; charset=utf-8";

    /// <summary>The body; empty for none.</summary>
    public ReadOnlyMemory<byte> Body { get; private init; }

    /// <summary>A further field, or null.</summary>
    public (string Name, string Value)? Field { get; init; }

    /// <summary>A document.</summary>
    public static ApiAnswer Of<T>(T document, int status = StatusCodes.Status200OK) where T : class =>
        new() { Status = status, Body = JsonSerializer.SerializeToUtf8Bytes(document, ApiJson.Answer<T>()) };

    /// <summary>JSON that is written already.</summary>
    public static ApiAnswer OfJson(ReadOnlyMemory<byte> json) => new() { Status = StatusCodes.Status200OK, Body = json };

    /// <summary>It is done, and there is nothing to say.</summary>
    public static ApiAnswer Done { get; } = new() { Status = StatusCodes.Status204NoContent };

    /// <summary>The cluster's database is not available for a change.</summary>
    /// <param name="exception">What is wrong.</param>
    /// <param name="list">What would have been changed, in the plural.</param>
    public static ApiAnswer NotShared(SharedUnavailableException exception, string list) => Problem(
        StatusCodes.Status503ServiceUnavailable,
        "cluster-database",
        $"The cluster's database is not available ({exception.Reason}). "
            + (exception.MayHaveChanged
                ? $"The change may have been made all the same: look at the list of {list} before you try again."
                : "Nothing has changed."));

    /// <summary>A body was not read.</summary>
    public static ApiAnswer NotRead(AdminBodyProblem problem) => Problem(problem.Status, problem.Code, problem.Detail) with
    {
        Field = problem.EndsConnection ? (HeaderNames.Connection, "close") : null,
    };

    /// <summary>An error.</summary>
    /// <param name="status">The status.</param>
    /// <param name="code">The stable name of the error.</param>
    /// <param name="detail">A sentence for people, without secrets.</param>
    /// <param name="mistakes">All that is wrong, where it can be more than one thing.</param>
    public static ApiAnswer Problem(int status, string code, string detail, IReadOnlyList<string>? mistakes = null) => new()
    {
        Status = status,
        ContentType = AdminProblem.ContentType,
        Body = AdminProblem.Render(status, code, detail, mistakes),
    };
}
