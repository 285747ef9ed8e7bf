using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Counts of records that could not be aggregated, by reason. Written by one thread, readable on any.</summary>
internal sealed class DeadLetterCounters
{
    private readonly long[] _counts = new long[Enum.GetValues<RecordDecodeStatus>().Length];

    internal long this[RecordDecodeStatus reason] => Volatile.Read(ref _counts[(int)reason]);

    internal long Total => _counts.Sum();

    internal void Add(RecordDecodeStatus reason) => Volatile.Write(ref _counts[(int)reason], _counts[(int)reason] + 1);
}
