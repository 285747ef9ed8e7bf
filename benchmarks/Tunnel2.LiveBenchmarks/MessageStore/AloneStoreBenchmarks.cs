using BenchmarkDotNet.Attributes;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The workloads with nothing but the store in the clock; see <see cref="AloneRun"/>.</summary>
[Config(typeof(StoreBenchmarkConfig))]
public class AloneStoreBenchmarks : IDisposable
{
    private AloneRun? _run;

    public static IEnumerable<string> Strategies => StoreStrategy.Raced;

    [Params(StoreWorkload.SameKeys, StoreWorkload.DifferentKeys, StoreWorkload.MixedReadsAndWrites)]
    public StoreWorkload Workload { get; set; }

    [Params(2, 4, 8, 16)]
    public int Publishers { get; set; }

    [ParamsSource(nameof(Strategies))]
    public string Strategy { get; set; } = "";

    [GlobalSetup]
    public void StartThreads() => _run = new AloneRun(Workload, Publishers);

    [IterationSetup]
    public void Prepare() => _run!.Prepare(Strategy);

    [Benchmark(OperationsPerInvoke = AloneRun.Operations)]
    public void Operations() => _run!.Run();

    [IterationCleanup]
    public void Verify() => _run!.Verify();

    [GlobalCleanup]
    public void Dispose()
    {
        _run?.Dispose();
        _run = null;
        GC.SuppressFinalize(this);
    }
}
