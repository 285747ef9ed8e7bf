using System.Text.Json;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>What one node has answered to a call to all, whole; or why it has not. Immutable.</summary>
/// <param name="Node">The node.</param>
/// <param name="Status">The status; 0: there is no answer.</param>
/// <param name="ContentType">The media type.</param>
/// <param name="Body">The body.</param>
/// <param name="Problem">Why there is no answer.</param>
/// <param name="IsOlder">Whether its release takes no calls.</param>
internal sealed record NodeReply(
    string Node, int Status, string ContentType, ReadOnlyMemory<byte> Body, string Problem = "", bool IsOlder = false)
{
    /// <summary>Whether it has done what was asked.</summary>
    public bool IsDone => Status is >= 200 and < 300;

    /// <summary>Whether it has not answered.</summary>
    public bool IsLost => Status == 0;

    /// <summary>What a list says of the node.</summary>
    public string State => IsOlder ? "older"
        : IsLost ? "lost"
        : Status is StatusCodes.Status503ServiceUnavailable or StatusCodes.Status429TooManyRequests ? "busy"
        : "up";

    /// <summary>No answer.</summary>
    public static NodeReply Lost(string node, string problem, bool isOlder = false) => new(node, 0, "", default, problem, isOlder);

    /// <summary>The document of an answer that has one; null: it has none.</summary>
    public JsonElement? Document()
    {
        if (!IsDone || Body.IsEmpty)
        {
            return null;
        }

        try
        {
            using var document = JsonDocument.Parse(Body);
            return document.RootElement.ValueKind == JsonValueKind.Object ? document.RootElement.Clone() : null;
        }
        catch (JsonException)
        {
            return null;
        }
    }
}
