using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Toolchains.InProcess.Emit;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>In this process: the workloads bring their own threads and a fresh store for each run.</summary>
internal abstract class StoreBenchmarkConfig : ManualConfig
{
    protected StoreBenchmarkConfig(int warmups, int iterations, int runsPerIteration)
    {
        AddJob(Job.Default
            .WithToolchain(InProcessEmitToolchain.Instance)
            .WithWarmupCount(warmups)
            .WithIterationCount(iterations)
            .WithInvocationCount(runsPerIteration)
            .WithUnrollFactor(1));

        // Of all figures the least that other programs on the machine can change.
        AddColumn(StatisticColumn.Min, StatisticColumn.Median);
    }
}
