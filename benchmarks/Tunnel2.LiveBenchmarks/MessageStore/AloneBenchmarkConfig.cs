namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>Of <see cref="AloneStoreBenchmarks"/>.</summary>
internal sealed class AloneBenchmarkConfig() : StoreBenchmarkConfig(runsPerIteration: 1);
