using static Tunnel2.Client.Live.TopFigures;

namespace Tunnel2.Client.Live;

/// <summary>
/// Lays out the table of <c>tunnel2 top</c>: a line for all sessions, then one per session, the busiest first. Not thread-safe.
/// </summary>
internal sealed class TopView
{
    private readonly TopOptions _options;

    public TopView(TopOptions options) => _options = options;

    /// <summary>Renders the lines.</summary>
    /// <param name="state">The state.</param>
    /// <param name="serverNowUs">The server's time of day, microseconds since 1970.</param>
    /// <param name="note">A note about a failed connection, or null.</param>
    /// <param name="rows">How many lines at most, or 0 for all.</param>
    public List<string> Render(TopState state, long serverNowUs, string? note, int rows)
    {
        int online = state.Sessions.Values.Count(static session => session is { IsOnline: true, IsLost: false });
        int seconds = state.WindowSeconds;
        TopStatistics all = state.Current(serverNowUs);
        List<string> lines =
        [
            Text($"tunnel2 top  {_options.Server}  {online} {(online == 1 ? "session" : "sessions")} online  ")
                + Text($"{Rate(all.Requests, seconds)} req/s  {Rate(all.Errors, seconds)} errors/s  p50 {Time(all, all.P50Us)}  ")
                + Text($"p95 {Time(all, all.P95Us)}  p99 {Time(all, all.P99Us)}  ")
                + Text($"in {Bytes(all.BytesIn, seconds)}/s  out {Bytes(all.BytesOut, seconds)}/s"),
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

        if (state.Pauses > 0 && !state.IsPaused)
        {
            lines.Add(PausesOf(state));
        }

        if (state.IsCluster)
        {
            lines.Add(NodesOf(state));
        }

        string node = state.IsCluster ? Text($" {"node",-12}") : "";
        lines.Add("");
        lines.Add(Text($"{"session",-24}{node} {"req/s",9} {"errors/s",9} {"p50",9} {"p95",9} {"p99",9} {"in/s",9} {"out/s",9}  agent"));
        (string Name, TopSession Session, TopStatistics Now)[] sessions =
        [
            .. state.Sessions
                .Select(pair => (
                    pair.Value.Name, Session: pair.Value, Now: state.Current(pair.Value, state.Window, serverNowUs)))
                .OrderByDescending(static row => row.Now.Requests)
                    .ThenByDescending(static row => row.Session.IsOnline)
                    .ThenBy(static row => row.Name, StringComparer.Ordinal)
                    .ThenBy(static row => row.Session.Node?.Name, StringComparer.Ordinal),
        ];
        int room = rows == 0 ? int.MaxValue : Math.Max(1, rows - lines.Count - 1);
        foreach ((string name, TopSession session, TopStatistics now) in sessions.Take(room))
        {
            string at = state.IsCluster ? Text($" {session.Node?.Name,-12}") : "";
            string agent = session.Node is { IsUp: false } away ? $"node {away.State}"
                : session.IsOnline
                ? Text($"{session.Agent}, {session.Uplinks} uplink{(session.Uplinks == 1 ? "" : "s")}")
                : "offline";
            lines.Add(
                Text($"{name,-24}{at} {Rate(now.Requests, seconds),9} {Rate(now.Errors, seconds),9} {Time(now, now.P50Us),9} ")
                    + Text($"{Time(now, now.P95Us),9} {Time(now, now.P99Us),9} {Bytes(now.BytesIn, seconds),9} ")
                    + Text($"{Bytes(now.BytesOut, seconds),9}  {agent}"));
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
}
