namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>Of <see cref="AncestorStoreBenchmarks"/>.</summary>
internal sealed class AncestorBenchmarkConfig : StoreBenchmarkConfig
{
    public AncestorBenchmarkConfig()
        : base(warmups: 3, iterations: 15, AncestorStoreBenchmarks.RunsPerIteration)
    {
        AddColumn(new AncestorColumn());
    }
}
