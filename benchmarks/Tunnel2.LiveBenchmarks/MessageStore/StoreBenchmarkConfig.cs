using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Toolchains.InProcess.Emit;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>Fifteen iterations in this process: the workloads bring their own threads and a fresh store for each run.</summary>
internal abstract class StoreBenchmarkConfig : ManualConfig
{
    protected StoreBenchmarkConfig(int runsPerIteration)
    {
        AddJob(Job.Default
            .WithToolchain(InProcessEmitToolchain.Instance)
            .WithWarmupCount(3)
            .WithIterationCount(15)
            .WithInvocationCount(runsPerIteration)
            .WithUnrollFactor(1));
    }
}
