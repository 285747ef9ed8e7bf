using System.Xml.Linq;
using Tunnel2.LoadTests.Reports;

namespace Tunnel2.LoadTests.Tests.Reports;

public sealed class SvgPlotTests
{
    [Theory]
    [InlineData(0, 1)]
    [InlineData(1, 1)]
    [InlineData(1.1, 2)]
    [InlineData(2.2, 2.5)]
    [InlineData(499, 500)]
    [InlineData(0.03, 0.05)]
    [InlineData(9999, 10_000)]
    public void An_axis_ends_at_a_round_number(double value, double top) => Assert.Equal(top, SvgPlot.NiceTop(value), 9);

    [Fact]
    public void A_plot_is_well_formed_and_its_points_lie_on_it()
    {
        var plot = new SvgPlot("a < b & \"c\"", "s", "ms")
        {
            Lines = [new PlotLine("p99", "a", [(0, 0), (5, 20), (10, 10)]), new PlotLine("none", "b", [])],
        };

        var svg = XElement.Parse(plot.Draw());

        var line = Assert.Single(svg.Elements("polyline"));
        var points = line.Attribute("points")!.Value.Split(' ')
            .Select(static point => point.Split(',').Select(double.Parse).ToArray())
            .ToArray();
        Assert.Equal(3, points.Length);
        Assert.All(points, static point => Assert.True(point[0] is >= 0 and <= 640 && point[1] is >= 0 and <= 240));
        Assert.True(points[1][1] < points[2][1] && points[2][1] < points[0][1], "A higher value is drawn higher.");
    }
}
