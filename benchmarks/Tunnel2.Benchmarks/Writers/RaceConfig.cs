using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using Perfolizer.Horology;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>In this process, so that figures of our own reach the table; short, because it screens.</summary>
internal sealed class RaceConfig : ManualConfig
{
    public RaceConfig()
    {
        AddJob(Job.Default.WithToolchain(InProcessEmitToolchain.Instance).WithGcServer(false).WithWarmupCount(2).WithIterationCount(5)
            .WithMinIterationTime(TimeInterval.FromMilliseconds(150)));
        AddColumn(
            new RaceColumn("frames/s", (_, statistics) => $"{1e9 / statistics.Mean:N0}"),
            new RaceColumn("bytes/flush", (figures, _) => $"{figures.BytesPerFlush:N0}"),
            new RaceColumn("p99 to wire", (figures, _) => $"{figures.P99.TotalMicroseconds:N0} us"));
        HideColumns(Column.Error, Column.StdDev, Column.Median, Column.Gen0, Column.Gen1, Column.Gen2);
    }
}
