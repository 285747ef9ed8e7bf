using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.Laboratory.Aggregation;

/// <summary>A value of a group, for the comparison job SUM(value) GROUP BY group.</summary>
internal readonly record struct SumRecord(int Group, int Value);

/// <summary>Hash of the group.</summary>
internal readonly struct SumHash : IKeyHash<SumRecord>
{
    public static uint Hash(in SumRecord record) => (uint)record.Group * 2_654_435_769u;
}

/// <summary>Sums of one partition, by group.</summary>
internal sealed class SumState : IPartitionState<SumRecord>
{
    /// <summary>Unused sums at either end: states that are made one after another must not write to each other's cache lines.</summary>
    private const int Padding = 128 / sizeof(long);

    private readonly long[] _sums;
    private readonly int _groups;

    internal SumState(int groups)
    {
        _groups = groups;
        _sums = new long[groups + (2 * Padding)];
    }

    internal Span<long> Sums => _sums.AsSpan(Padding, _groups);

    public void Process(ReadOnlySpan<SumRecord> batch)
    {
        Span<long> sums = Sums;
        foreach (ref readonly SumRecord record in batch)
        {
            sums[record.Group] += record.Value;
        }
    }

    public void AdvanceTo(long watermark)
    {
        // No windows.
    }

    public void Complete()
    {
        // The sums are the result.
    }

    /// <summary>Adds the sums of another partition.</summary>
    internal void Merge(SumState other)
    {
        Span<long> sums = Sums;
        ReadOnlySpan<long> others = other.Sums;
        for (int i = 0; i < sums.Length; i++)
        {
            sums[i] += others[i];
        }
    }
}
