using System.Text.Json;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>Writes counts of errors by code as a member of a JSON object (docs/live.md). Stateless.</summary>
internal static class ErrorsJson
{
    /// <summary>Writes the member; nothing without an error.</summary>
    public static void WriteMember(Utf8JsonWriter json, IReadOnlyDictionary<ushort, long>? errors)
    {
        if (errors is null)
        {
            return;
        }

        json.WriteStartObject("errorsByCode"u8);
        foreach (var (code, count) in errors)
        {
            json.WriteNumber(RequestErrorCodes.Name(code)!, count);
        }

        json.WriteEndObject();
    }
}
