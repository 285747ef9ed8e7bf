using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Toolchains.InProcess.Emit;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>
/// Fifteen iterations of one invocation each, in this process: the workloads bring their own loops and their own fresh stores.
/// </summary>
internal sealed class StoreBenchmarkConfig : ManualConfig
{
    public StoreBenchmarkConfig()
    {
        AddJob(Job.Default
            .WithToolchain(InProcessEmitToolchain.Instance)
            .WithWarmupCount(3)
            .WithIterationCount(15)
            .WithInvocationCount(1)
            .WithUnrollFactor(1));
        AddDiagnoser(MemoryDiagnoser.Default);
    }
}
