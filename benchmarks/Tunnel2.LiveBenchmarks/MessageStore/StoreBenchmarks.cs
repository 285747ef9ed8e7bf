using BenchmarkDotNet.Attributes;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>
/// The race under BenchmarkDotNet: a method per strategy, so that each cell has its baseline, and a cell per workload and number of
/// publishers. The baseline runs twice: how far its second ratio is from 1 is how far the run can be trusted.
/// </summary>
public abstract class StoreBenchmarks
{
    [Params(StoreWorkload.SameKeys, StoreWorkload.DifferentKeys, StoreWorkload.MixedReadsAndWrites)]
    public StoreWorkload Workload { get; set; }

    [Params(2, 4, 8, 16)]
    public int Publishers { get; set; }

    [IterationSetup(Target = nameof(DictionaryAndLock))]
    public void PrepareDictionaryAndLock() => Prepare(StoreStrategy.Baseline);

    [Benchmark(Baseline = true, Description = "dictionary + lock")]
    public void DictionaryAndLock() => Run();

    [IterationSetup(Target = nameof(DictionaryAndLockAgain))]
    public void PrepareDictionaryAndLockAgain() => Prepare(StoreStrategy.Baseline);

    [Benchmark(Description = "dictionary + lock (A/A)")]
    public void DictionaryAndLockAgain() => Run();

    [IterationSetup(Target = nameof(ConcurrentDictionarySet))]
    public void PrepareConcurrentDictionarySet() => Prepare(StoreStrategy.ConcurrentSet);

    [Benchmark(Description = "ConcurrentDictionary set")]
    public void ConcurrentDictionarySet() => Run();

    [IterationSetup(Target = nameof(ConcurrentDictionaryAddOrUpdate))]
    public void PrepareConcurrentDictionaryAddOrUpdate() => Prepare(StoreStrategy.ConcurrentUpdate);

    [Benchmark(Description = "ConcurrentDictionary AddOrUpdate")]
    public void ConcurrentDictionaryAddOrUpdate() => Run();

    [IterationSetup(Target = nameof(ReaderWriterLock))]
    public void PrepareReaderWriterLock() => Prepare(StoreStrategy.ReaderWriterLock);

    [Benchmark(Description = "ReaderWriterLockSlim")]
    public void ReaderWriterLock() => Run();

    [IterationSetup(Target = nameof(Striped1))]
    public void PrepareStriped1() => Prepare("striped-1");

    [Benchmark(Description = "striped, 1 stripe")]
    public void Striped1() => Run();

    [IterationSetup(Target = nameof(Striped2))]
    public void PrepareStriped2() => Prepare("striped-2");

    [Benchmark(Description = "striped, 2 stripes")]
    public void Striped2() => Run();

    [IterationSetup(Target = nameof(Striped4))]
    public void PrepareStriped4() => Prepare("striped-4");

    [Benchmark(Description = "striped, 4 stripes")]
    public void Striped4() => Run();

    [IterationSetup(Target = nameof(Striped8))]
    public void PrepareStriped8() => Prepare("striped-8");

    [Benchmark(Description = "striped, 8 stripes")]
    public void Striped8() => Run();

    [IterationSetup(Target = nameof(Striped16))]
    public void PrepareStriped16() => Prepare("striped-16");

    [Benchmark(Description = "striped, 16 stripes")]
    public void Striped16() => Run();

    [IterationCleanup]
    public void Check() => Verify();

    /// <summary>Makes what the next iteration needs, before the clock starts.</summary>
    protected abstract void Prepare(string strategy);

    protected abstract void Run();

    /// <summary>Throws when a change is missing.</summary>
    protected abstract void Verify();
}
