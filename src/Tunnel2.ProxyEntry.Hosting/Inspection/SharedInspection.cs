using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Inspection;

/// <summary>A node that keeps, or has kept, exchanges of a session.</summary>
/// <param name="Node">The node.</param>
/// <param name="Process">Another one each time the node is started: what an earlier process has kept is gone.</param>
internal readonly record struct InspectionKeeper(string Node, string Process);

/// <summary>An inspection that all nodes of a cluster know. Immutable.</summary>
/// <param name="Name">The session's name.</param>
/// <param name="Lasts">For how long, from when it was begun or prolonged.</param>
/// <param name="Keepers">The nodes to which the session came, the latest last.</param>
internal sealed record SharedInspection(string Name, TimeSpan Lasts, IReadOnlyList<InspectionKeeper> Keepers)
{
    /// <summary>How many keepers are remembered: the latest.</summary>
    public const int MostKeepers = 32;

    private const int LongestText = 64;

    /// <summary>The same with a further keeper; of a process that had another name, only the new one counts.</summary>
    public SharedInspection With(InspectionKeeper keeper) => this with
    {
        Keepers = [.. Keepers.Where(one => one.Process != keeper.Process).Append(keeper).TakeLast(MostKeepers)],
    };

    /// <summary>It as a document, which counts from a moment of the database's clock; null: from now on.</summary>
    public SharedDocument Write(long version = 0, DateTimeOffset? begun = null)
    {
        using var output = new MemoryStream();
        using (var json = new Utf8JsonWriter(output))
        {
            json.WriteStartObject();
            json.WriteNumber("milliseconds"u8, (long)Math.Ceiling(Lasts.TotalMilliseconds));
            json.WriteStartArray("keepers"u8);
            foreach (var keeper in Keepers)
            {
                json.WriteStringValue(string.Create(CultureInfo.InvariantCulture, $"{keeper.Node} {keeper.Process}"));
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        return new SharedDocument(Name, output.ToArray(), version, begun);
    }

    /// <summary>Reads a document; null: it makes no sense.</summary>
    public static SharedInspection? Read(SharedDocument document)
    {
        try
        {
            using var json = JsonDocument.Parse(document.Value);
            var root = json.RootElement;
            return root.TryGetProperty("milliseconds"u8, out var number) && number.TryGetInt64(out var milliseconds)
                && milliseconds is >= 0 and <= (long)InspectionEndpoints.MostMinutes * 60 * 1000
                ? new SharedInspection(
                    document.Key, TimeSpan.FromMilliseconds(milliseconds),
                    [
                        .. root.GetProperty("keepers"u8).EnumerateArray().Take(MostKeepers)
                            .Select(static one => (one.GetString() ?? "").Split(' '))
                            .Where(static parts => parts is [{ Length: > 0 and <= LongestText }, { Length: > 0 and <= LongestText }])
                            .Select(static parts => new InspectionKeeper(parts[0], parts[1])),
                    ])
                : null;
        }
        catch (Exception exception) when (exception is JsonException or InvalidOperationException or KeyNotFoundException)
        {
            return null;
        }
    }
}
