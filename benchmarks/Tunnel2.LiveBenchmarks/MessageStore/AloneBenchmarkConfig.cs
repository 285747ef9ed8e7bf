namespace Tunnel2.LiveBenchmarks.MessageStore;

/// <summary>Of <see cref="AloneStoreBenchmarks"/>. A run is a million operations, so a few are enough.</summary>
internal sealed class AloneBenchmarkConfig() : StoreBenchmarkConfig(warmups: 1, iterations: 7, runsPerIteration: 1);
