using BenchmarkDotNet.Attributes;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>
/// The workloads with only the store in the clock; see <see cref="AloneRun"/>. One run is a million operations: milliseconds are
/// nanoseconds for each of them.
/// </summary>
[Config(typeof(AloneBenchmarkConfig))]
[MemoryDiagnoser]
public class AloneStoreBenchmarks : StoreBenchmarks, IDisposable
{
    private AloneRun? _run;

    [GlobalSetup]
    public void StartThreads() => _run = new AloneRun(Workload, Publishers);

    [GlobalCleanup]
    public void Dispose()
    {
        _run?.Dispose();
        _run = null;
        GC.SuppressFinalize(this);
    }

    protected override void Prepare(string strategy) => _run!.Prepare(strategy);

    protected override void Run() => _run!.Run();

    protected override void Verify() => _run!.Verify();
}
