using System.Text;

namespace Tunnel2.LoadTests.Reports;

/// <summary>A line plot as inline SVG: no script, no file beside the page.</summary>
/// <param name="Title">Above it.</param>
/// <param name="XUnit">Below the horizontal axis.</param>
/// <param name="YUnit">Beside the vertical axis.</param>
internal sealed record SvgPlot(string Title, string XUnit, string YUnit)
{
    private const int Width = 640;
    private const int Height = 240;
    private const int Left = 62;
    private const int Right = 12;
    private const int Top = 30;
    private const int Bottom = 38;
    private const int Ticks = 5;

    /// <summary>Its lines.</summary>
    public required IReadOnlyList<PlotLine> Lines { get; init; }

    /// <summary>Draws it.</summary>
    public string Draw()
    {
        var points = Lines.SelectMany(static line => line.Points).ToArray();
        var right = NiceTop(points.Length == 0 ? 1 : points.Max(static point => point.X));
        var top = NiceTop(points.Length == 0 ? 1 : points.Max(static point => point.Y));
        var svg = new StringBuilder();
        svg.Append(Text.Line($"<svg viewBox=\"0 0 {Width} {Height}\" role=\"img\" aria-label=\"{Html.Escape(Title)}\">"));
        svg.Append(Text.Line($"<text class=\"title\" x=\"{Left}\" y=\"16\">{Html.Escape(Title)}</text>"));
        for (var i = 0; i <= Ticks; i++)
        {
            var y = Y((double)i / Ticks);
            var x = X((double)i / Ticks);
            svg.Append(Text.Line($"<line class=\"grid\" x1=\"{Left}\" x2=\"{Width - Right}\" y1=\"{y:0.#}\" y2=\"{y:0.#}\"/>"));
            svg.Append(
                Text.Line($"<text class=\"tick\" text-anchor=\"end\" x=\"{Left - 6}\" y=\"{y + 4:0.#}\">{top * i / Ticks:#,0.###}</text>"));
            svg.Append(
                Text.Line($"<text class=\"tick\" text-anchor=\"middle\" x=\"{x:0.#}\" ")
                    + Text.Line($"y=\"{Height - Bottom + 16}\">{right * i / Ticks:#,0.##}</text>"));
        }

        svg.Append(
            Text.Line($"<text class=\"tick\" text-anchor=\"middle\" x=\"{(Left + Width - Right) / 2}\" ")
                + Text.Line($"y=\"{Height - 6}\">{Html.Escape(XUnit)}</text>"));
        svg.Append(
            Text.Line($"<text class=\"tick\" text-anchor=\"middle\" transform=\"rotate(-90 12 {Height / 2})\" x=\"12\" ")
                + Text.Line($"y=\"{Height / 2}\">{Html.Escape(YUnit)}</text>"));
        var legend = Width - Right;
        foreach (var line in Lines.Reverse())
        {
            svg.Append(
                Text.Line(
                    $"<text class=\"{line.Style} legend\" text-anchor=\"end\" x=\"{legend}\" y=\"16\">{Html.Escape(line.Name)}</text>"));
            legend -= 14 + (7 * line.Name.Length);
        }

        foreach (var line in Lines.Where(static line => line.Points.Count > 0))
        {
            var path = string.Join(' ', line.Points.Select(point => Text.Line($"{X(point.X / right):0.#},{Y(point.Y / top):0.#}")));
            svg.Append($"<polyline class=\"{line.Style}\" points=\"{path}\"/>");
        }

        return svg.Append("</svg>").ToString();
    }

    /// <summary>The end of an axis: 1, 2, 2.5 or 5 times a power of ten, not below the value.</summary>
    internal static double NiceTop(double value)
    {
        if (value <= 0)
        {
            return 1;
        }

        var power = Math.Pow(10, Math.Floor(Math.Log10(value)));
        foreach (var step in new[] { 1, 2, 2.5, 5 })
        {
            if (value <= step * power)
            {
                return step * power;
            }
        }

        return 10 * power;
    }

    private static double X(double share) => Left + (share * (Width - Left - Right));

    private static double Y(double share) => Height - Bottom - (share * (Height - Top - Bottom));
}

/// <summary>A line of a plot.</summary>
/// <param name="Name">In the legend.</param>
/// <param name="Style">Its class on the page: a, b or c.</param>
/// <param name="Points">From left to right.</param>
internal sealed record PlotLine(string Name, string Style, IReadOnlyList<(double X, double Y)> Points);
