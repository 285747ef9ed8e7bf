using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using SumPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash, Tunnel2.Laboratory.Aggregation.SumState>;

namespace Tunnel2.Laboratory.Tests.Aggregation;

public sealed class PrefetchingSourceTests
{
    private const int Groups = 200;

    [Fact]
    public void Reading_ahead_changes_nothing_but_the_thread()
    {
        SumRecord[] records = Records(100_003);
        var state = new SumState(Groups);
        using var source = new PrefetchingSource<SumRecord>(new MemorySource<SumRecord>(records, 1000), 1000);
        PipelineReport report = SumPipeline.RunFused(source, state);
        long[] sums = new long[Groups];
        Array.ForEach(records, r => sums[r.Group] += r.Value);
        Assert.Equal(sums, state.Sums.ToArray());
        Assert.Equal(records.Length, report.Records);
        Assert.False(source.TryRead(out _));
    }

    [Fact]
    public void Reading_ahead_stops_when_it_is_no_longer_wanted()
    {
        var source = new PrefetchingSource<SumRecord>(new MemorySource<SumRecord>(Records(100_000), 10), 10);
        Assert.True(source.TryRead(out _));
        source.Dispose();
    }

    [Fact]
    public void A_failure_while_reading_ahead_reaches_the_reader()
    {
        using var source = new PrefetchingSource<SumRecord>(new MemorySource<SumRecord>(Records(100), 10), 5);
        Assert.Throws<InvalidOperationException>(() => source.TryRead(out _));
    }

    private static SumRecord[] Records(int count) => [.. Enumerable.Range(0, count).Select(i => new SumRecord(i % Groups, i % 100))];
}
