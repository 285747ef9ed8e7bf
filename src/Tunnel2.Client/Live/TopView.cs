using System.Globalization;

namespace Tunnel2.Client.Live;

/// <summary>
/// Lays out the table of <c>tunnel2 top</c>: a line for all sessions, then one per session, the busiest first. Not thread-safe.
/// </summary>
internal sealed class TopView
{
    /// <summary>
    /// How long after its end a window counts as the current one: the server closes it half a second late, and the next one comes after its
    /// own length.
    /// </summary>
    private const long SlackUs = 2_000_000;

    private readonly TopOptions _options;

    public TopView(TopOptions options) => _options = options;

    /// <summary>Renders the lines.</summary>
    /// <param name="state">The state.</param>
    /// <param name="serverNowUs">The server's time of day, microseconds since 1970.</param>
    /// <param name="note">A note about a failed connection, or null.</param>
    /// <param name="rows">How many lines at most, or 0 for all.</param>
    public List<string> Render(TopState state, long serverNowUs, string? note, int rows)
    {
        int online = state.Sessions.Values.Count(static session => session.IsOnline);
        TopStatistics all = Current(state.Node, serverNowUs);
        List<string> lines =
        [
            Text($"tunnel2 top  {_options.Server}  {online} {(online == 1 ? "session" : "sessions")} online  {Rate(all.Requests)} req/s  ")
                + Text($"{Rate(all.Errors)} errors/s  p50 {Time(all, all.P50Us)}  p95 {Time(all, all.P95Us)}  p99 {Time(all, all.P99Us)}  ")
                + Text($"in {Bytes(all.BytesIn)}/s  out {Bytes(all.BytesOut)}/s"),
        ];
        if (note is not null)
        {
            lines.Add(note);
        }

        if (state.Skipped > 0 || state.Missed > 0)
        {
            lines.Add(
                Text($"{state.Skipped} messages skipped by this connection, {state.Missed} requests missed by the server's statistics"));
        }

        lines.Add("");
        lines.Add(Text($"{"session",-24} {"req/s",9} {"errors/s",9} {"p50",9} {"p95",9} {"p99",9} {"in/s",9} {"out/s",9}  agent"));
        (string Name, TopSession Session, TopStatistics Now)[] sessions =
        [
            .. state.Sessions.Select(pair => (pair.Key, pair.Value, Current(pair.Value.Statistics, serverNowUs)))
                .OrderByDescending(static row => row.Item3.Requests)
                    .ThenByDescending(static row => row.Value.IsOnline)
                    .ThenBy(static row => row.Key, StringComparer.Ordinal),
        ];
        int room = rows == 0 ? int.MaxValue : Math.Max(1, rows - lines.Count - 1);
        foreach ((string name, TopSession session, TopStatistics now) in sessions.Take(room))
        {
            string agent = session.IsOnline
                ? Text($"{session.Agent}, {session.Uplinks} uplink{(session.Uplinks == 1 ? "" : "s")}")
                : "offline";
            lines.Add(
                Text($"{name,-24} {Rate(now.Requests),9} {Rate(now.Errors),9} {Time(now, now.P50Us),9} {Time(now, now.P95Us),9} ")
                    + Text($"{Time(now, now.P99Us),9} {Bytes(now.BytesIn),9} {Bytes(now.BytesOut),9}  {agent}"));
        }

        if (sessions.Length == 0)
        {
            lines.Add("no session yet");
        }
        else if (sessions.Length > room)
        {
            lines.Add(Text($"and {sessions.Length - room} more"));
        }

        return lines;
    }

    /// <summary>
    /// The window if it is the current one, otherwise an empty one: the server sends no window in which no request ended.
    /// </summary>
    private TopStatistics Current(TopStatistics? window, long serverNowUs) =>
        window is { } known && serverNowUs - known.EndUs < (_options.WindowSeconds * 1_000_000L) + SlackUs
            ? known
            : new TopStatistics(0, _options.WindowSeconds, 0, 0, 0, 0, 0, 0, 0);

    private static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);

    private string Rate(long count)
    {
        double rate = count / (double)_options.WindowSeconds;
        return rate is > 0 and < 10 && _options.WindowSeconds > 1 ? Text($"{rate:0.0}") : Text($"{rate:0}");
    }

    private static string Time(in TopStatistics window, long microseconds) => window.Requests == 0 ? "-" : microseconds switch
    {
        < 10_000 => Text($"{microseconds / 1e3:0.00}ms"),
        < 10_000_000 => Text($"{microseconds / 1e3:0}ms"),
        _ => Text($"{microseconds / 1e6:0.0}s"),
    };

    private string Bytes(long count)
    {
        double rate = count / (double)_options.WindowSeconds;
        return rate switch
        {
            < 1e3 => Text($"{rate:0}B"),
            < 1e6 => Text($"{rate / 1e3:0.0}kB"),
            < 1e9 => Text($"{rate / 1e6:0.0}MB"),
            _ => Text($"{rate / 1e9:0.00}GB"),
        };
    }
}
