using System.Globalization;
using Tunnel2.Client.Terminals;
using static Tunnel2.Client.Live.TopFigures;

namespace Tunnel2.Client.Live;

/// <summary>Lays out the pages of <see cref="TopPanel"/>; each fits 80 columns. Stateless.</summary>
internal static class TopPanelView
{
    private const int FigureWidth = 8;
    private const int Figures = TopSort.Columns - 1;
    private const int MostName = 50;

    /// <summary>With so many columns more, agents are shown.</summary>
    private const int AgentWidth = 20;

    private const int LeastName = 12;

    private static readonly string[] _headings = ["session", "req/s", "err/s", "p50", "p95", "p99", "in/s", "out/s"];

    /// <summary>What is above the table: all sessions together, and what is to be said about the connection.</summary>
    public static List<ScreenRow> Head(TopState state, string server, string? note, long serverNowUs, int columns)
    {
        int online = state.Sessions.Values.Count(static session => session is { IsOnline: true, IsLost: false });
        int seconds = state.WindowSeconds;
        TopStatistics all = state.Current(serverNowUs);
        ScreenRow title = ScreenRow.Of($"tunnel2 top  {server}", ScreenStyle.Strong);
        string right = Text($"{online} of {state.Sessions.Count} {(state.Sessions.Count == 1 ? "session" : "sessions")} online, ")
            + $"window {WindowKeys[state.Window]}";
        List<ScreenRow> rows =
        [
            title.Width + right.Length + 1 <= columns ? title.AddAtRight(right, columns) : title,
            Summary(all, seconds),
        ];
        AddNotes(rows, state, note);
        if (state.IsCluster)
        {
            bool isWhole = state.Nodes.Values.All(static node => node.IsUp);
            rows.Add(ScreenRow.Of(DisplayText.Cut(NodesOf(state), columns), isWhole ? ScreenStyle.Plain : ScreenStyle.Warning));
        }

        return rows;
    }

    /// <summary>The headings of the table, with a mark at the one by which it is sorted.</summary>
    public static ScreenRow Heading(TopSort sort, int columns)
    {
        int name = NameWidth(columns);
        string text = DisplayText.Fit(Marked(TopColumn.Session), name)
            + string.Concat(Enumerable.Range(1, Figures).Select(i => DisplayText.Fit(Marked((TopColumn)i), FigureWidth, atRight: true)))
            + (ShowsAgents(columns) ? "  agent" : "");
        return ScreenRow.Of(DisplayText.Fit(text, columns), ScreenStyle.Marked);

        string Marked(TopColumn column) =>
            column == sort.Column ? _headings[(int)column] + (sort.IsReversed ? "▲" : "▼") : _headings[(int)column];
    }

    /// <summary>A session.</summary>
    public static ScreenRow Row(TopRow row, int seconds, bool isSelected, int columns)
    {
        (string name, TopSession session, TopStatistics now) = row;
        string shown = DisplayText.Fit(name, NameWidth(columns) - 1) + (session.IsOnline && !session.IsLost ? " " : "-");
        string[] figures = FiguresOf(now, seconds);
        string agent = !ShowsAgents(columns) ? "" : "  " + AgentOf(session);
        if (isSelected)
        {
            return ScreenRow.Of(DisplayText.Fit(shown + string.Concat(figures) + agent, columns), ScreenStyle.Marked);
        }

        ScreenStyle style = session.IsOnline ? ScreenStyle.Plain : ScreenStyle.Dim;
        return new ScreenRow()
            .Add(shown, style)
            .Add(figures[0], style)
            .Add(figures[1], now.Errors > 0 ? ScreenStyle.Bad : style)
            .Add(string.Concat(figures[2..]) + agent, style);
    }

    /// <summary>The last row: the filter while it is typed, otherwise the keys.</summary>
    public static ScreenRow Foot(string filter, bool isTyping, int at, int count, int columns)
    {
        if (isTyping)
        {
            return new ScreenRow().Add($"/{filter}", ScreenStyle.Strong).Add("_").Add("   Enter keeps it, Esc clears it", ScreenStyle.Dim);
        }

        string place = count == 0 ? "" : Text($"{at + 1}/{count}");
        ScreenRow row = filter.Length > 0
            ? new ScreenRow().Add($"/{filter}", ScreenStyle.Strong).Add("  Esc all  ? help  q quit", ScreenStyle.Dim)
            : ScreenRow.Of("Enter session  / filter  s sort  r reverse  w window  ? help  q quit", ScreenStyle.Dim);
        return row.Width + place.Length + 1 <= columns ? row.AddAtRight(place, columns, ScreenStyle.Dim) : row;
    }

    /// <summary>The page of a session.</summary>
    public static List<ScreenRow> Session(TopState state, string name, string? note, long serverNowUs, int columns, int rows)
    {
        ScreenRow title = ScreenRow.Of(DisplayText.Cut(name, MostName), ScreenStyle.Strong);
        List<ScreenRow> lines = [title.Width + 12 <= columns ? title.AddAtRight("Esc goes back", columns, ScreenStyle.Dim) : title];
        AddNotes(lines, state, note);
        if (!state.Sessions.TryGetValue(name, out TopSession? session))
        {
            lines.Add(ScreenRow.Of("There is no such session any more.", ScreenStyle.Warning));
            return lines;
        }

        lines.Add(ScreenRow.Of(AgentOf(session), session.IsOnline ? ScreenStyle.Good : ScreenStyle.Bad));
        lines.Add(ScreenRow.Of(""));
        lines.Add(ScreenRow.Of(
            DisplayText.Fit(
                DisplayText.Fit("window", FigureWidth)
                    + string.Concat(_headings[1..].Select(static text => DisplayText.Fit(text, FigureWidth, atRight: true))),
                columns),
            ScreenStyle.Marked));
        for (int i = 0; i < WindowKeys.Length; i++)
        {
            TopStatistics now = state.Current(session, i, serverNowUs);
            lines.Add(ScreenRow.Of(DisplayText.Fit(WindowKeys[i], FigureWidth) + string.Concat(FiguresOf(now, WindowSeconds[i]))));
        }

        lines.Add(ScreenRow.Of(""));
        string leftOut = state.RequestsLeftOut > 0 ? Text($", and {state.RequestsLeftOut:N0} more that the server left out") : "";
        lines.Add(ScreenRow.Of($"Requests, the newest first{leftOut}", ScreenStyle.Dim));
        if (state.Requests.Count == 0)
        {
            lines.Add(ScreenRow.Of("none yet", ScreenStyle.Dim));
        }

        lines.AddRange(state.Requests.Reverse().Take(Math.Max(0, rows - lines.Count)).Select(request => Request(request, columns)));
        return lines;
    }

    /// <summary>The page of keys.</summary>
    public static List<ScreenRow> Help(int columns)
    {
        ScreenRow title = ScreenRow.Of("tunnel2 top: help", ScreenStyle.Strong);
        return
        [
            title.Width + 20 <= columns ? title.AddAtRight("any key goes back", columns, ScreenStyle.Dim) : title,
            ScreenRow.Of(""),
            ScreenRow.Of("Up, Down, PgUp, PgDn, Home, End   select a session"),
            ScreenRow.Of("Enter                             its page with its last requests; Esc goes back"),
            ScreenRow.Of("/                                 only names with a text; Esc shows all"),
            ScreenRow.Of("s, S  or  >, <                    sort by the next, the previous column"),
            ScreenRow.Of("1 to 8                            sort by that column"),
            ScreenRow.Of("r                                 the other way round"),
            ScreenRow.Of("w                                 windows of 1 s, 10 s, 1 min"),
            ScreenRow.Of("Ctrl+L                            draws everything again"),
            ScreenRow.Of("q, Ctrl+C                         ends"),
            ScreenRow.Of(""),
            ScreenRow.Of("A '-' after a name: its agent is away. err/s: requests that failed, and"),
            ScreenRow.Of("answers of the service with 500 or more. p50, p95, p99: durations."),
        ];
    }

    private static ScreenRow Summary(in TopStatistics all, int seconds)
    {
        ScreenRow row = ScreenRow.Of($"{Rate(all.Requests, seconds)} req/s  ");
        row.Add($"{Rate(all.Errors, seconds)} errors/s", all.Errors > 0 ? ScreenStyle.Bad : ScreenStyle.Plain);
        return row.Add($"  p50 {Time(all, all.P50Us)}  p95 {Time(all, all.P95Us)}  p99 {Time(all, all.P99Us)}  ")
            .Add($"in {Bytes(all.BytesIn, seconds)}/s  out {Bytes(all.BytesOut, seconds)}/s");
    }

    private static void AddNotes(List<ScreenRow> rows, TopState state, string? note)
    {
        if (note is not null)
        {
            rows.Add(ScreenRow.Of(note, ScreenStyle.Bad));
        }

        if (state.Skipped > 0 || state.Missed > 0)
        {
            rows.Add(ScreenRow.Of(
                Text($"gaps: {state.Skipped:N0} messages skipped here, {state.Missed:N0} requests missed by the server"),
                ScreenStyle.Warning));
        }

        if (state.Pauses > 0 && !state.IsPaused)
        {
            rows.Add(ScreenRow.Of(PausesOf(state), ScreenStyle.Warning));
        }
    }

    private static ScreenRow Request(TopRequest? request, int columns)
    {
        if (request is null)
        {
            return ScreenRow.Of("-- gap: requests may be missing here --", ScreenStyle.Warning);
        }

        string time = DateTimeOffset.UnixEpoch.AddMicroseconds(Math.Clamp(request.EndedUs, 0, 253_402_300_799_000_000))
            .ToLocalTime().ToString("HH:mm:ss", CultureInfo.InvariantCulture);
        ScreenStyle style = request.Status is 0 or >= 500 ? ScreenStyle.Bad
            : request.Status >= 400 ? ScreenStyle.Warning
            : request.Status >= 300 ? ScreenStyle.Note
            : ScreenStyle.Good;
        ScreenRow row = new ScreenRow()
            .Add($"{time} {DisplayText.Fit(request.Method, 7)} ")
            .Add(DisplayText.Fit(request.Status == 0 ? "-" : Text($"{request.Status}"), 4), style)
            .Add(DisplayText.Fit(Time(request.TotalUs), FigureWidth, atRight: true) + "  ");
        string words = request.Error ?? (request.IsOpen ? "(open)" : "");
        int left = Math.Max(0, columns - row.Width - (words.Length == 0 ? 0 : DisplayText.WidthOf(words) + 2));
        row.Add(DisplayText.Cut(request.Target, left));
        return words.Length == 0 ? row : row.Add("  " + words, request.Error is null ? ScreenStyle.Dim : ScreenStyle.Bad);
    }

    private static string[] FiguresOf(in TopStatistics now, int seconds) =>
    [
        Figure(Rate(now.Requests, seconds)),
        Figure(Rate(now.Errors, seconds)),
        Figure(Time(now, now.P50Us)),
        Figure(Time(now, now.P95Us)),
        Figure(Time(now, now.P99Us)),
        Figure(Bytes(now.BytesIn, seconds)),
        Figure(Bytes(now.BytesOut, seconds)),
    ];

    private static string Figure(string text) => DisplayText.Fit(text, FigureWidth, atRight: true);

    private static string AgentOf(TopSession session) => session.Node is { IsUp: false } away ? $"node {away.State}"
        : session.IsOnline
        ? Text($"{session.Agent}, {session.Uplinks} uplink{(session.Uplinks == 1 ? "" : "s")}")
        : "offline";

    private static bool ShowsAgents(int columns) => columns >= LeastName + (FigureWidth * Figures) + AgentWidth + LeastName;

    private static int NameWidth(int columns) => Math.Clamp(
        columns - (FigureWidth * Figures) - (ShowsAgents(columns) ? AgentWidth : 0), LeastName, MostName);
}
