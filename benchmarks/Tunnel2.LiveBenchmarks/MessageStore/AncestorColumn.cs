using System.Globalization;
using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;

namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>The ancestor's figures beside ours, for its lock and its ConcurrentDictionary.</summary>
internal sealed class AncestorColumn : IColumn
{
    private static readonly Dictionary<(string Method, StoreWorkload Workload), int[]> _microseconds = new()
    {
        [(nameof(StoreBenchmarks.DictionaryAndLock), StoreWorkload.SameKeys)] = [59, 63, 156, 442],
        [(nameof(StoreBenchmarks.ConcurrentDictionarySet), StoreWorkload.SameKeys)] = [63, 69, 250, 443],
        [(nameof(StoreBenchmarks.DictionaryAndLock), StoreWorkload.DifferentKeys)] = [56, 69, 159, 462],
        [(nameof(StoreBenchmarks.ConcurrentDictionarySet), StoreWorkload.DifferentKeys)] = [72, 82, 216, 433],
        [(nameof(StoreBenchmarks.DictionaryAndLock), StoreWorkload.MixedReadsAndWrites)] = [67, 130, 315, 581],
        [(nameof(StoreBenchmarks.ConcurrentDictionarySet), StoreWorkload.MixedReadsAndWrites)] = [103, 178, 494, 1176],
    };

    public string Id => nameof(AncestorColumn);

    public string ColumnName => "Ancestor";

    public bool AlwaysShow => true;

    public ColumnCategory Category => ColumnCategory.Statistics;

    public int PriorityInCategory => 100;

    public bool IsNumeric => true;

    public UnitType UnitType => UnitType.Dimensionless;

    public string Legend => "What the ancestor measured on its own machine, for its lock and its ConcurrentDictionary";

    public string GetValue(Summary summary, BenchmarkCase benchmarkCase)
    {
        string method = benchmarkCase.Descriptor.WorkloadMethod.Name;
        var workload = (StoreWorkload)benchmarkCase.Parameters[nameof(StoreBenchmarks.Workload)];
        int publishers = (int)benchmarkCase.Parameters[nameof(StoreBenchmarks.Publishers)];
        return _microseconds.TryGetValue((method, workload), out int[]? figures)
            ? figures[int.Log2(publishers) - 1].ToString(CultureInfo.InvariantCulture) + " μs"
            : "";
    }

    public string GetValue(Summary summary, BenchmarkCase benchmarkCase, SummaryStyle style) => GetValue(summary, benchmarkCase);

    public bool IsDefault(Summary summary, BenchmarkCase benchmarkCase) => false;

    public bool IsAvailable(Summary summary) => true;
}
