using System.Diagnostics;
using BenchmarkDotNet.Attributes;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The workloads as the ancestor ran them, with its own figures in a column; see <see cref="AncestorRun"/>.</summary>
[Config(typeof(AncestorBenchmarkConfig))]
[MemoryDiagnoser]
public class AncestorStoreBenchmarks : StoreBenchmarks
{
    internal const int RunsPerIteration = 64;
    private static readonly HashSet<string> _warm = [];
    private readonly AncestorRun[] _runs = new AncestorRun[RunsPerIteration];
    private int _done;

    protected override void Prepare(string strategy)
    {
        if (_warm.Add(strategy))
        {
            WarmUp(strategy);
        }

        for (int i = 0; i < _runs.Length; i++)
        {
            _runs[i] = new AncestorRun(strategy, Workload, Publishers);
        }

        _done = 0;
    }

    protected override void Run() => _runs[_done++].RunAsync().GetAwaiter().GetResult();

    protected override void Verify()
    {
        for (int i = 0; i < _done; i++)
        {
            _runs[i].Verify();
        }
    }

    /// <summary>Lets our code be compiled in full before it is timed, as the framework's collections are from the start.</summary>
    private static void WarmUp(string strategy)
    {
        long start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(0.3))
        {
            foreach (StoreWorkload workload in Enum.GetValues<StoreWorkload>())
            {
                new AncestorRun(strategy, workload, 4).RunAsync().GetAwaiter().GetResult();
            }
        }
    }
}
