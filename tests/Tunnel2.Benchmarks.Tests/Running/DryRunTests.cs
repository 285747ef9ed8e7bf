using System.Reflection;
using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using Tunnel2.Benchmarks.Protocol;
using Tunnel2.LiveBenchmarks.MessageStore;

namespace Tunnel2.Benchmarks.Tests.Running;

public sealed class DryRunTests
{
    public static TheoryData<Type> Classes =>
    [
        .. new[] { typeof(FrameHeaderBenchmarks).Assembly, typeof(StoreBenchmarks).Assembly }
            .SelectMany(assembly => assembly.GetTypes())
            .Where(type => !type.IsAbstract && type.GetMethods().Any(method => method.IsDefined(typeof(BenchmarkAttribute))))
            .OrderBy(type => type.FullName, StringComparer.Ordinal),
    ];

    /// <summary>Each method once, with the first value of each parameter.</summary>
    [Theory]
    [MemberData(nameof(Classes))]
    public void Every_benchmark_runs(Type type)
    {
        var log = new AccumulationLogger();
        ManualConfig config = ManualConfig.CreateEmpty()
            .AddJob(Job.Dry.WithToolchain(InProcessEmitToolchain.Instance).AsMutator())
            .AddLogger(log)
            .WithArtifactsPath(Directory.CreateTempSubdirectory("benchmarks-").FullName)
            .WithOptions(ConfigOptions.DisableOptimizationsValidator | ConfigOptions.DisableLogFile);
        try
        {
            BenchmarkRunInfo all = BenchmarkConverter.TypeToBenchmarks(type, config);
            string first = all.BenchmarksCases[0].Parameters.ValueInfo;
            BenchmarkCase[] cases = [.. all.BenchmarksCases.Where(one => one.Parameters.ValueInfo == first)];

            Summary summary = BenchmarkRunner.Run(new BenchmarkRunInfo(cases, type, all.Config));

            Assert.Empty(summary.ValidationErrors.Where(error => error.IsCritical));
            Assert.Equal(cases.Length, summary.Reports.Length);
            Assert.All(summary.Reports, report => Assert.True(
                report.Success && report.ResultStatistics is { N: > 0 }, $"{report.BenchmarkCase.DisplayInfo}: {log.GetLog()}"));
        }
        finally
        {
            Directory.Delete(config.ArtifactsPath, recursive: true);
        }
    }
}
