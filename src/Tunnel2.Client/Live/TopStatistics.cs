using System.Text.Json;

namespace Tunnel2.Client.Live;

/// <summary>
/// One window of statistics as the hub sends it (docs/live.md, channels <c>node.stats</c> and <c>session.{name}.stats</c>). Immutable.
/// </summary>
/// <param name="StartUs">Its start, microseconds since 1970 by the server's clock.</param>
/// <param name="Seconds">Its length in seconds.</param>
/// <param name="Requests">Requests that ended in it.</param>
/// <param name="Errors">Requests that failed.</param>
/// <param name="BytesIn">Body bytes from visitors.</param>
/// <param name="BytesOut">Body bytes to visitors.</param>
/// <param name="P50Us">Median duration, microseconds.</param>
/// <param name="P95Us">95th percentile of the durations, microseconds.</param>
/// <param name="P99Us">99th percentile of the durations, microseconds.</param>
internal readonly record struct TopStatistics(
    long StartUs, int Seconds, long Requests, long Errors, long BytesIn, long BytesOut, long P50Us, long P95Us, long P99Us)
{
    /// <summary>Its end, microseconds since 1970 by the server's clock.</summary>
    public long EndUs => StartUs + (Seconds * 1_000_000L);

    /// <summary>Reads it from a message's <c>data</c>.</summary>
    /// <exception cref="KeyNotFoundException">A member is missing.</exception>
    /// <exception cref="InvalidOperationException">A member is not a number.</exception>
    /// <exception cref="FormatException">A number is out of range.</exception>
    public static TopStatistics Read(JsonElement data) => new(
        data.GetProperty("startUs").GetInt64(),
        Math.Max(1, data.GetProperty("seconds").GetInt32()),
        data.GetProperty("requests").GetInt64(),
        data.GetProperty("errors").GetInt64(),
        data.GetProperty("bytesIn").GetInt64(),
        data.GetProperty("bytesOut").GetInt64(),
        data.GetProperty("p50Us").GetInt64(),
        data.GetProperty("p95Us").GetInt64(),
        data.GetProperty("p99Us").GetInt64());
}
