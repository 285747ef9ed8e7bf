using System.Text.Json;
using Tunnel2.Protocol;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>Reads what a certificate authority writes. It may lie, so each value is checked. Stateless.</summary>
internal static class AcmeJson
{
    private const int LongestText = 300;
    private const int LongestUrl = 2048;

    private static readonly JsonDocumentOptions _options = new() { MaxDepth = 16 };

    /// <summary>A text of the authority, as it may be in a log line.</summary>
    public static string Clean(string text) => PlainText.Clean(text, LongestText);

    /// <summary>Reads a body that has to be a JSON object.</summary>
    /// <exception cref="AcmeException">It is something else.</exception>
    public static JsonElement Read(AcmeResponse response, string what)
    {
        if (!response.MediaType.EndsWith("json", StringComparison.OrdinalIgnoreCase))
        {
            throw new AcmeException($"the {what} is not JSON but {Clean(response.MediaType)}", isOfServer: true);
        }

        try
        {
            using var document = JsonDocument.Parse(response.Body, _options);
            return document.RootElement.ValueKind == JsonValueKind.Object
                ? document.RootElement.Clone()
                : throw new AcmeException($"the {what} is not a JSON object", isOfServer: true);
        }
        catch (JsonException exception)
        {
            throw new AcmeException($"the {what} is not valid JSON", isOfServer: true, cause: exception);
        }
    }

    /// <summary>A text, or null.</summary>
    public static string? Text(JsonElement parent, string name) => parent.TryGetProperty(name, out var value) ? Text(value) : null;

    /// <summary>A text, or null: it is something else, or its escapes are half a character.</summary>
    public static string? Text(JsonElement value)
    {
        try
        {
            return value.ValueKind == JsonValueKind.String ? value.GetString() : null;
        }
        catch (InvalidOperationException)
        {
            return null;
        }
    }

    /// <summary>A list, with at most so many members; empty if there is none.</summary>
    public static IEnumerable<JsonElement> List(JsonElement parent, string name, int most) =>
        parent.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.Array ? value.EnumerateArray().Take(most) : [];

    /// <summary>An address.</summary>
    /// <exception cref="AcmeException">There is none, or none for HTTPS.</exception>
    public static Uri Url(JsonElement parent, string name) =>
        TryUrl(Text(parent, name)) ?? throw new AcmeException($"the authority gives no https URL as {name}", isOfServer: true);

    /// <summary>An address for HTTPS; null for all other texts.</summary>
    public static Uri? TryUrl(string? text) =>
        text?.Length <= LongestUrl && Uri.TryCreate(text, UriKind.Absolute, out var url) && url.Scheme == Uri.UriSchemeHttps ? url : null;

    /// <summary>The exception for a problem document (RFC 7807), or for any other answer that is not a success.</summary>
    public static AcmeException Problem(AcmeResponse response, string what)
    {
        string? type = null;
        var detail = "";
        if (response.MediaType.EndsWith("json", StringComparison.OrdinalIgnoreCase))
        {
            try
            {
                using var document = JsonDocument.Parse(response.Body, _options);
                if (document.RootElement.ValueKind == JsonValueKind.Object)
                {
                    (type, detail) = (Text(document.RootElement, "type"), Text(document.RootElement, "detail") ?? "");
                }
            }
            catch (JsonException)
            {
                // The status has to say it all.
            }
        }

        return Problem(what, type, detail, response.Status, response.RetryAfter);
    }

    /// <summary>The exception for an error inside an order, an authorization or a challenge.</summary>
    public static AcmeException Problem(JsonElement parent, string what)
    {
        var isThere = parent.TryGetProperty("error", out var error) && error.ValueKind == JsonValueKind.Object;
        return Problem(what, isThere ? Text(error, "type") : null, isThere ? Text(error, "detail") ?? "" : "", 0, null);
    }

    private static AcmeException Problem(string what, string? type, string detail, int status, TimeSpan? retryAfter)
    {
        var words = type is null && detail.Length == 0 ? "" : $": {Clean($"{type} {detail}".Trim())}";
        return new AcmeException(
            $"{what} was refused{(status == 0 ? "" : $" with status {status}")}{words}",
            type,
            retryAfter,
            isOfServer: status is 429 or >= 500);
    }
}
