using System.Globalization;

namespace Tunnel2.Client.Live;

/// <summary>The figures of windows as <c>tunnel2 top</c> shows them. Pure.</summary>
internal static class TopFigures
{
    /// <summary>The keys of the windows in the hub's messages.</summary>
    public static readonly string[] WindowKeys = ["1s", "10s", "1m"];

    /// <summary>Their lengths.</summary>
    public static readonly int[] WindowSeconds = [1, 10, 60];

    /// <summary>
    /// How long after its end a window counts as the current one: the server closes it half a second late, and the next one comes after its
    /// own length.
    /// </summary>
    private const long SlackUs = 2_000_000;

    /// <summary>A window of which nothing is known.</summary>
    private static readonly TopStatistics _unknown = new(0, 1, -1, -1, -1, -1, 0, 0, 0);

    /// <summary>
    /// The window if it is the current one, otherwise an empty one: the server sends no window in which no request ended. While nothing
    /// comes it is an unknown one, which is shown as such.
    /// </summary>
    /// <param name="window">The last window that came.</param>
    /// <param name="seconds">Its length.</param>
    /// <param name="serverNowUs">The server's time of day.</param>
    /// <param name="isFollowed">Whether messages come.</param>
    /// <param name="isLost">Whether even a window that has just come says nothing of the present.</param>
    public static TopStatistics Current(
        TopStatistics? window, int seconds, long serverNowUs, bool isFollowed, bool isLost = false) =>
        !isLost && window is { } known && serverNowUs - known.EndUs < (seconds * 1_000_000L) + SlackUs ? known
        : isFollowed ? new TopStatistics(0, seconds, 0, 0, 0, 0, 0, 0, 0)
        : _unknown;

    /// <summary>The nodes of a cluster, with what is to be said about them.</summary>
    public static string NodesOf(TopState state) => "nodes: " + string.Join(", ", state.Nodes.Values.Select(static node =>
        node.Name + node.State switch
        {
            "up" => "",
            "older" => " (no live view: older release)",
            var other => $" ({other})",
        } + (node.Skipped > 0 ? Text($" ({node.Skipped} messages skipped)") : "")));

    /// <summary>A number per second; <c>-</c> where it is unknown.</summary>
    public static string Rate(long count, int seconds)
    {
        if (count < 0)
        {
            return "-";
        }

        double rate = count / (double)seconds;
        return rate is > 0 and < 10 && seconds > 1 ? Text($"{rate:0.0}") : rate >= 1e7 ? Text($"{rate / 1e6:0.0}M") : Text($"{rate:0}");
    }

    /// <summary>A duration of a window; <c>-</c> where no request ended in it.</summary>
    public static string Time(in TopStatistics window, long microseconds) => window.Requests <= 0 ? "-" : Time(microseconds);

    /// <summary>A duration.</summary>
    public static string Time(long microseconds) => microseconds switch
    {
        < 10_000 => Text($"{microseconds / 1e3:0.00}ms"),
        < 10_000_000 => Text($"{microseconds / 1e3:0}ms"),
        _ => Text($"{microseconds / 1e6:0.0}s"),
    };

    /// <summary>Bytes per second; <c>-</c> where they are unknown.</summary>
    public static string Bytes(long count, int seconds)
    {
        if (count < 0)
        {
            return "-";
        }

        double rate = count / (double)seconds;
        return rate switch
        {
            < 1e3 => Text($"{rate:0}B"),
            < 1e6 => Text($"{rate / 1e3:0.0}kB"),
            < 1e9 => Text($"{rate / 1e6:0.0}MB"),
            _ => Text($"{rate / 1e9:0.00}GB"),
        };
    }

    /// <summary>That there were pauses, for a line of text.</summary>
    public static string PausesOf(TopState state) =>
        Text($"gaps: paused {state.Pauses:N0} {(state.Pauses == 1 ? "time" : "times")} by the server; nothing is known of that time");

    internal static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
