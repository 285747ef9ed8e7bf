using System.Text.Json;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Writes statistics as members of a JSON object: one form for <c>tunnel2 stats --json</c> and the hub (docs/live.md). Stateless.
/// </summary>
internal static class WindowJson
{
    /// <summary>Writes the members into the object that was begun.</summary>
    internal static void WriteMembers(Utf8JsonWriter json, in WindowResult window)
    {
        json.WriteNumber("requests"u8, window.Requests);
        json.WriteNumber("errors"u8, window.Errors);
        json.WriteNumber("bytesIn"u8, window.BytesIn);
        json.WriteNumber("bytesOut"u8, window.BytesOut);
        json.WriteNumber("p50Us"u8, window.P50);
        json.WriteNumber("p95Us"u8, window.P95);
        json.WriteNumber("p99Us"u8, window.P99);
    }
}
