using System.Text;
using System.Text.Json;
using Tunnel2.Http1;

namespace Tunnel2.Inspection.Serving;

/// <summary>An answer of the inspector.</summary>
internal sealed record InspectorResponse
{
    /// <summary>The media type of JSON.</summary>
    public const string Json = "application/json; charset=utf-8";

    /// <summary>The status.</summary>
    public required int Status { get; init; }

    /// <summary>The media type of the body.</summary>
    public required string ContentType { get; init; }

    /// <summary>The body.</summary>
    public ReadOnlyMemory<byte> Body { get; init; }

    /// <summary>Writes a body of unknown length instead; or null.</summary>
    public Func<Stream, CancellationToken, Task>? WriteAsync { get; init; }

    /// <summary>Further fields, each with its name.</summary>
    public IReadOnlyList<(string Name, string Value)> Fields { get; init; } = [];

    /// <summary>A JSON answer.</summary>
    public static InspectorResponse Of(Action<Utf8JsonWriter> write, int status = 200)
    {
        using var output = new MemoryStream();
        using (var json = new Utf8JsonWriter(output))
        {
            write(json);
        }

        return new InspectorResponse { Status = status, ContentType = Json, Body = output.ToArray() };
    }

    /// <summary>An error (RFC 9457), in the form of all errors of ProxyEntry's API.</summary>
    /// <param name="status">The status.</param>
    /// <param name="code">The stable name of the error.</param>
    /// <param name="detail">A sentence for people, without secrets.</param>
    public static InspectorResponse Error(int status, string code, string detail) => Of(
        json =>
        {
            json.WriteStartObject();
            json.WriteString("type", "urn:tunnel2:api:" + code);
            json.WriteString("title", ReasonPhrases.Of(status));
            json.WriteNumber("status", status);
            json.WriteString("detail", detail);
            json.WriteString("code", code);
            json.WriteEndObject();
        },
        status) with
    {
        ContentType = "application/problem+json; charset=utf-8",
    };

    /// <summary>Plain text.</summary>
    public static InspectorResponse Text(int status, string text) =>
        new() { Status = status, ContentType = "text/plain; charset=utf-8", Body = Encoding.UTF8.GetBytes(text) };
}
