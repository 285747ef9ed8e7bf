using System.Text;
using System.Text.Json;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>The latest message of a key, as a subscriber sees it in a snapshot.</summary>
/// <param name="Key">The key.</param>
/// <param name="Sequence">Its number in the channel.</param>
/// <param name="Data">What was published.</param>
internal sealed record Shown(string Key, long Sequence, JsonElement Data)
{
    /// <summary>The snapshot of a channel, the oldest message first; none where there is no such channel.</summary>
    public static IReadOnlyList<Shown> On(Hub hub, string channel)
    {
        var frame = Encoding.UTF8.GetString(hub.GetChannel(channel).SnapshotFrame());
        using var json = JsonDocument.Parse(frame[frame.IndexOf('{', StringComparison.Ordinal)..]);
        return
        [
            .. json.RootElement.GetProperty("messages").EnumerateArray().Select(static message => new Shown(
                message.GetProperty("key").GetString()!, message.GetProperty("seq").GetInt64(), message.GetProperty("data").Clone())),
        ];
    }

    /// <summary>A member of what was published, as JSON; null where there is none.</summary>
    public string? this[string member] => Data.TryGetProperty(member, out var value) ? value.GetRawText().Trim('"') : null;
}
