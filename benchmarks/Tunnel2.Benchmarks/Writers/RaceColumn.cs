using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Mathematics;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>A column of the race's own figures.</summary>
internal sealed class RaceColumn(string name, Func<RaceFigures, Statistics, string> show) : IColumn
{
    public string Id => name;

    public string ColumnName => name;

    public bool AlwaysShow => true;

    public ColumnCategory Category => ColumnCategory.Custom;

    public int PriorityInCategory => 0;

    public bool IsNumeric => true;

    public UnitType UnitType => UnitType.Dimensionless;

    public string Legend => name;

    public string GetValue(Summary summary, BenchmarkCase benchmarkCase)
    {
        var parameters = benchmarkCase.Parameters;
        var figures = RaceFigures.Find(
            (WriterKind)parameters[nameof(UplinkWriterRace.Writer)], (string)parameters[nameof(UplinkWriterRace.Load)]);
        return figures is not null && summary[benchmarkCase]?.ResultStatistics is { } statistics ? show(figures, statistics) : "-";
    }

    public string GetValue(Summary summary, BenchmarkCase benchmarkCase, SummaryStyle style) => GetValue(summary, benchmarkCase);

    public bool IsDefault(Summary summary, BenchmarkCase benchmarkCase) => false;

    public bool IsAvailable(Summary summary) => true;
}
