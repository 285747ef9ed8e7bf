using System.Diagnostics;
using BenchmarkDotNet.Attributes;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The workloads as the ancestor ran them; see <see cref="AncestorRun"/>.</summary>
[Config(typeof(StoreBenchmarkConfig))]
public class AncestorStoreBenchmarks
{
    private const int RunsPerInvocation = 64;
    private readonly AncestorRun[] _runs = new AncestorRun[RunsPerInvocation];

    public static IEnumerable<string> Strategies => StoreStrategy.Raced;

    [Params(2, 4, 8, 16)]
    public int Publishers { get; set; }

    [ParamsSource(nameof(Strategies))]
    public string Strategy { get; set; } = "";

    /// <summary>Lets our code be compiled in full before the first iteration, as the framework's collections are from the start.</summary>
    [GlobalSetup]
    public void WarmUp()
    {
        long start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(1))
        {
            foreach (StoreWorkload workload in Enum.GetValues<StoreWorkload>())
            {
                new AncestorRun(Strategy, workload, Publishers).RunAsync().GetAwaiter().GetResult();
            }
        }
    }

    [IterationSetup(Target = nameof(SameKeys))]
    public void SetUpSameKeys() => SetUp(StoreWorkload.SameKeys);

    [IterationSetup(Target = nameof(DifferentKeys))]
    public void SetUpDifferentKeys() => SetUp(StoreWorkload.DifferentKeys);

    [IterationSetup(Target = nameof(MixedReadsAndWrites))]
    public void SetUpMixedReadsAndWrites() => SetUp(StoreWorkload.MixedReadsAndWrites);

    [Benchmark(OperationsPerInvoke = RunsPerInvocation)]
    public Task SameKeys() => RunAsync();

    [Benchmark(OperationsPerInvoke = RunsPerInvocation)]
    public Task DifferentKeys() => RunAsync();

    [Benchmark(OperationsPerInvoke = RunsPerInvocation)]
    public Task MixedReadsAndWrites() => RunAsync();

    [IterationCleanup]
    public void Verify()
    {
        foreach (AncestorRun run in _runs)
        {
            run.Verify();
        }
    }

    private void SetUp(StoreWorkload workload)
    {
        for (int i = 0; i < _runs.Length; i++)
        {
            _runs[i] = new AncestorRun(Strategy, workload, Publishers);
        }
    }

    private async Task RunAsync()
    {
        foreach (AncestorRun run in _runs)
        {
            await run.RunAsync();
        }
    }
}
