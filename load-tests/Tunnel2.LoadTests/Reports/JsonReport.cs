using System.Text.Json;
using System.Text.Json.Serialization;

namespace Tunnel2.LoadTests.Reports;

/// <summary>The report for programs.</summary>
internal static class JsonReport
{
    private static readonly JsonSerializerOptions _options = new(JsonSerializerDefaults.Web)
    {
        WriteIndented = true,
        Converters = { new JsonStringEnumConverter() },
    };

    /// <summary>Writes it.</summary>
    public static string Of(LoadReport report) => JsonSerializer.Serialize(report, _options);
}
