namespace Tunnel2.Telemetry.Aggregation;

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
    internal SumState(int groups)
    {
        Sums = new long[groups];
    }

    internal long[] Sums { get; }

    public void Process(ReadOnlySpan<SumRecord> batch)
    {
        long[] sums = Sums;
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
        for (int i = 0; i < Sums.Length; i++)
        {
            Sums[i] += other.Sums[i];
        }
    }
}
