using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Terminals;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Screens;

/// <summary>Which page the screen of a tunnel shows.</summary>
internal enum AgentScreenPage
{
    Requests,
    QrCode,
    Help,
}

/// <summary>Lays out the screen of a tunnel. Stateless.</summary>
internal static class AgentScreenView
{
    private const int LabelWidth = 11;
    private const int TimeWidth = 8;
    private const int MethodWidth = 7;
    private const int StatusWidth = 6;
    private const int DurationWidth = 8;

    /// <summary>Lays out a page.</summary>
    /// <param name="state">What is known.</param>
    /// <param name="page">Which page.</param>
    /// <param name="server">The server's address.</param>
    /// <param name="columns">Columns of the terminal.</param>
    /// <param name="rows">Rows of the terminal.</param>
    /// <param name="time">The clock.</param>
    /// <param name="hasColors">Whether colours may be used.</param>
    public static IReadOnlyList<ScreenRow> Render(
        AgentScreenState state, AgentScreenPage page, string server, int columns, int rows, TimeProvider time, bool hasColors)
    {
        return page switch
        {
            AgentScreenPage.Help => Help(columns),
            AgentScreenPage.QrCode => Qr(state, columns, rows, hasColors),
            _ => Requests(state, server, columns, rows, time),
        };
    }

    private static List<ScreenRow> Requests(AgentScreenState state, string server, int columns, int rows, TimeProvider time)
    {
        DateTimeOffset now = time.GetUtcNow();
        List<ScreenRow> lines = [Title("tunnel2", "q QR code  ? help  Ctrl+C stop", columns), Status(state, now)];
        foreach (string url in state.Urls)
        {
            Forwarding(lines, url, state.Upstream, columns);
            foreach (ServiceRoute route in state.Routes)
            {
                Forwarding(lines, PlainText.Clean(url + route.Path), PlainText.Clean(route.Target.ToString()), columns);
            }
        }

        if (state.Warning is { } warning)
        {
            lines.Add(Labelled("Warning", warning, ScreenStyle.Bad));
        }

        if (state.Hint is { } hint)
        {
            lines.Add(Labelled("Try", hint));
        }

        if (state.Inspector is { } inspector)
        {
            lines.Add(Labelled("Inspect", inspector));
        }

        foreach (string trouble in state.ServiceTroubles)
        {
            lines.Add(Labelled("Service", trouble, ScreenStyle.Bad));
        }

        Servers(lines, state, server);
        if (state.Uplinks?.Invoke() is { } uplinks)
        {
            lines.Add(Labelled("Round trip", RoundTrip(uplinks)));
            lines.Add(Uplinks(uplinks));
        }

        ScreenRow counts = Labelled("Requests", ScreenFigures.Text($"{state.Requests:N0}, {state.RateAt(now):0.0} a second"));
        if (state.Failed > 0)
        {
            counts.Add(ScreenFigures.Text($", {state.Failed:N0} failed"), ScreenStyle.Bad);
        }

        if (state.NotShown > 0)
        {
            counts.Add(ScreenFigures.Text($", {state.NotShown:N0} not listed"), ScreenStyle.Warning);
        }

        lines.Add(counts);
        foreach ((DateTimeOffset at, string text) in state.Notices)
        {
            lines.Add(Labelled("Notice", $"{LocalTime(at, time)} {text}", ScreenStyle.Warning));
        }

        // A blank row and a heading; on a low terminal the requests are what is left out.
        int room = rows - lines.Count - 2;
        if (room < 1)
        {
            return [.. lines.Take(rows)];
        }

        lines.Add(ScreenRow.Of(""));
        AddRequests(lines, state, room, columns, time);
        return lines;
    }

    private static void AddRequests(List<ScreenRow> lines, AgentScreenState state, int room, int columns, TimeProvider time)
    {
        if (state.Last.Count == 0)
        {
            lines.Add(ScreenRow.Of("No request yet.", ScreenStyle.Dim));
            return;
        }

        string heading = $"{DisplayText.Fit("TIME", TimeWidth)} {DisplayText.Fit("METHOD", MethodWidth)} "
            + $"{DisplayText.Fit("STATUS", StatusWidth, atRight: true)} {DisplayText.Fit("DURATION", DurationWidth, atRight: true)}  PATH";
        lines.Add(ScreenRow.Of(DisplayText.Fit(heading, columns), ScreenStyle.Marked));
        foreach (RequestLine request in state.Last.Reverse().Take(room))
        {
            lines.Add(Request(request, columns, time));
        }
    }

    private static ScreenRow Request(RequestLine request, int columns, TimeProvider time)
    {
        ScreenStyle style = request.Status switch
        {
            0 or >= 500 => ScreenStyle.Bad,
            >= 400 => ScreenStyle.Warning,
            >= 300 => ScreenStyle.Note,
            _ => ScreenStyle.Good,
        };
        string status = request.Status == 0 ? "-" : ScreenFigures.Text($"{request.Status}");
        ScreenRow row = new ScreenRow()
            .Add(LocalTime(request.Time, time), ScreenStyle.Dim)
            .Add(" " + DisplayText.Fit(request.Method, MethodWidth) + " ")
            .Add(DisplayText.Fit(status, StatusWidth, atRight: true), style)
            .Add(" " + DisplayText.Fit(ScreenFigures.Duration(request.Duration), DurationWidth, atRight: true) + "  ");
        int left = Math.Max(0, columns - row.Width);
        if (request.Trouble is not { } trouble)
        {
            return row.Add(DisplayText.Cut(request.Path, left));
        }

        // The trouble is short and worth more than the end of a long path.
        string words = DisplayText.Cut(trouble, Math.Max(left * 2 / 3, left - DisplayText.WidthOf(request.Path) - 2));
        int forPath = left - DisplayText.WidthOf(words) - 2;
        return forPath < 1 ? row.Add(words, ScreenStyle.Bad)
            : row.Add(DisplayText.Cut(request.Path, forPath)).Add("  ").Add(words, ScreenStyle.Bad);
    }

    private static ScreenRow Status(AgentScreenState state, DateTimeOffset now)
    {
        string lasted = ScreenFigures.Span(now - state.Since);
        switch (state.Status)
        {
            case AgentStatus.Online:
                return Labelled("Status", $"online for {lasted}", ScreenStyle.Good);
            case AgentStatus.Draining:
                return Labelled("Status", "draining: finishing the requests under way", ScreenStyle.Warning);
            case AgentStatus.Stopped:
                return Labelled("Status", "stopped", ScreenStyle.Warning);
        }

        string doing = state.Status == AgentStatus.Connecting || state.NextTry <= now
            ? "connecting"
            : $"next attempt in {ScreenFigures.Span(state.NextTry - now + TimeSpan.FromSeconds(0.999))}";
        return state.Trouble is { } trouble
            ? Labelled("Status", $"offline for {lasted}, {doing}: {trouble}", ScreenStyle.Bad)
            : Labelled("Status", doing, ScreenStyle.Warning);
    }

    /// <summary>In one row where it fits: half an address is of no use.</summary>
    private static void Forwarding(List<ScreenRow> lines, string url, string upstream, int columns)
    {
        ScreenRow row = Labelled("Forwarding", url, ScreenStyle.Strong);
        lines.Add(row);
        string target = $" -> {upstream}";
        if (row.Width + DisplayText.WidthOf(target) <= columns)
        {
            row.Add(target);
        }
        else
        {
            lines.Add(Labelled("", target[1..]));
        }
    }

    private static void Servers(List<ScreenRow> lines, AgentScreenState state, string server)
    {
        if (state.Servers.Count < 2)
        {
            lines.Add(Labelled("Server", server));
            return;
        }

        string label = "Servers";
        foreach ((string one, bool isConnected, string? why) in state.Servers)
        {
            string words = why is null ? "" : $": {why}";
            lines.Add(isConnected ? Labelled(label, one + words) : Labelled(label, $"{one} not connected{words}", ScreenStyle.Warning));
            label = "";
        }
    }

    private static string RoundTrip(UplinkReading uplinks) => uplinks switch
    {
        { Longest.Ticks: 0 } => "not measured yet",
        _ when uplinks.Open == 1 || uplinks.Shortest == uplinks.Longest => ScreenFigures.Duration(uplinks.Longest),
        _ => $"{ScreenFigures.Duration(uplinks.Shortest)} to {ScreenFigures.Duration(uplinks.Longest)}",
    };

    private static ScreenRow Uplinks(UplinkReading uplinks)
    {
        string way = uplinks.WebSockets == 0 ? ""
            : uplinks.WebSockets == uplinks.Open ? " over WebSocket"
            : ScreenFigures.Text($", {uplinks.WebSockets} of them over WebSocket");
        ScreenRow row = Labelled("Uplinks", ScreenFigures.Text($"{uplinks.Open} open") + way);
        return uplinks.Stalled == 0 ? row : row.Add(ScreenFigures.Text($", {uplinks.Stalled} stalled"), ScreenStyle.Warning);
    }

    private static List<ScreenRow> Help(int columns) =>
    [
        Title("tunnel2: help", "any key goes back", columns),
        ScreenRow.Of(""),
        ScreenRow.Of("q        a QR code of the public URL"),
        ScreenRow.Of("?        this page"),
        ScreenRow.Of("Ctrl+L   draws everything again"),
        ScreenRow.Of("Ctrl+Z   stops the program until 'fg', or 'bg' to let it work without a screen"),
        ScreenRow.Of("Ctrl+C   finishes the requests under way and ends; a second time: at once"),
        ScreenRow.Of(""),
        ScreenRow.Of("The newest request is the first. Queries are not shown, because they carry"),
        ScreenRow.Of("secrets. Times are local; durations end with the last byte of the answer."),
        ScreenRow.Of(""),
        ScreenRow.Of("--plain or TERM=dumb: lines instead of this screen. --verbose: a line for"),
        ScreenRow.Of("each request. --json: the same for programs. NO_COLOR=1: no colours."),
    ];

    private static List<ScreenRow> Qr(AgentScreenState state, int columns, int rows, bool hasColors)
    {
        List<ScreenRow> lines = [Title("tunnel2: QR code", "any key goes back", columns)];
        if (state.Urls is not [var url, ..])
        {
            lines.Add(ScreenRow.Of("There is no public URL yet."));
            return lines;
        }

        lines.Add(ScreenRow.Of(url, ScreenStyle.Strong));
        if (QrCode.Render(url, columns, rows - lines.Count, hasColors) is { } code)
        {
            lines.AddRange(code);
        }
        else
        {
            lines.Add(ScreenRow.Of("The terminal is too small for its QR code."));
        }

        return lines;
    }

    private static ScreenRow Title(string left, string right, int columns)
    {
        ScreenRow row = ScreenRow.Of(left, ScreenStyle.Strong);
        return row.Width + 2 + right.Length <= columns ? row.AddAtRight(right, columns, ScreenStyle.Dim) : row;
    }

    private static ScreenRow Labelled(string label, string text, ScreenStyle style = ScreenStyle.Plain) =>
        new ScreenRow().Add(DisplayText.Fit(label, LabelWidth), ScreenStyle.Dim).Add(text, style);

    private static string LocalTime(DateTimeOffset time, TimeProvider clock) =>
        TimeZoneInfo.ConvertTime(time, clock.LocalTimeZone).ToString("HH:mm:ss", System.Globalization.CultureInfo.InvariantCulture);
}
