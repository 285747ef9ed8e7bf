using System.Text.Json;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Live;

/// <summary>
/// A request of the session that is looked at (docs/live.md, channel <c>session.{name}.requests</c>). Its texts are clean.
/// </summary>
/// <param name="EndedUs">When it ended, microseconds since 1970 by the server's clock.</param>
/// <param name="Method">Its method.</param>
/// <param name="Target">Its target, as far as the server records it.</param>
/// <param name="Status">The status, 0 for none.</param>
/// <param name="TotalUs">How long it took, microseconds.</param>
/// <param name="Error">The code of the server's own error, or null.</param>
/// <param name="IsOpen">Whether it is a report of an exchange that continues.</param>
internal sealed record TopRequest(long EndedUs, string Method, string Target, int Status, long TotalUs, string? Error, bool IsOpen)
{
    /// <summary>Reads it from a message's <c>data</c>.</summary>
    /// <exception cref="KeyNotFoundException">A member is missing.</exception>
    /// <exception cref="InvalidOperationException">A member has another type.</exception>
    /// <exception cref="FormatException">A number is out of range.</exception>
    public static TopRequest Read(JsonElement data)
    {
        string target = PlainText.Clean(data.GetProperty("target").GetString() ?? "");
        long total = data.GetProperty("totalUs").GetInt64();
        return new TopRequest(
            data.GetProperty("startedUs").GetInt64() + total,
            PlainText.Clean(data.GetProperty("method").GetString() ?? ""),
            data.TryGetProperty("targetTruncated", out _) ? target + "…" : target,
            data.GetProperty("status").GetInt32(),
            total,
            data.TryGetProperty("error", out JsonElement error) ? PlainText.Clean(error.GetString() ?? "") : null,
            data.TryGetProperty("open", out _));
    }
}
