using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using SumPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash, Tunnel2.Laboratory.Aggregation.SumState>;

namespace Tunnel2.Telemetry.Tests.Aggregation;

public sealed class PipelineTests
{
    private static SumRecord[] Records(int count, int groups) =>
        [.. Enumerable.Range(0, count).Select(i => new SumRecord(i % groups, i % 100))];

    private static long[] Oracle(SumRecord[] records, int groups)
    {
        long[] sums = new long[groups];
        foreach (SumRecord record in records)
        {
            sums[record.Group] += record.Value;
        }

        return sums;
    }

    private static long[] Merge(SumState[] states)
    {
        var sum = new SumState(states[0].Sums.Length);
        Array.ForEach(states, sum.Merge);
        return sum.Sums.ToArray();
    }

    [Theory]
    [InlineData(1, 10, 1000)]
    [InlineData(2, 10, 1000)]
    [InlineData(8, 10, 1000)]
    [InlineData(8, 200, 7)]
    [InlineData(3, 10_000, 1000)]
    [InlineData(8, 1, 1)]
    public void Routed_sums_equal_the_oracle_and_no_group_is_in_two_partitions(int partitions, int groups, int batch)
    {
        SumRecord[] records = Records(100_003, groups);
        SumState[] states = [.. Enumerable.Range(0, partitions).Select(_ => new SumState(groups))];
        PipelineReport report = SumPipeline.RunRouted(
            new MemorySource<SumRecord>(records, 999), states, new PipelineOptions { BatchSize = batch, QueueCapacity = 2 });
        Assert.Equal(Oracle(records, groups), Merge(states));
        Assert.Equal(records.Length, report.Records);
        for (int g = 0; g < groups; g++)
        {
            Assert.InRange(states.Count(s => s.Sums[g] != 0), 0, 1);
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    public void Split_sums_equal_the_oracle_once_merged(int splits)
    {
        SumRecord[] records = Records(100_003, 200);
        SumState[] states = [.. Enumerable.Range(0, splits).Select(_ => new SumState(200))];
        int part = (records.Length + splits - 1) / splits;
        IRecordSource<SumRecord>[] sources =
            [.. records.Chunk(part).Select(c => new MemorySource<SumRecord>(c, 1000))];
        PipelineReport report = SumPipeline.RunSplit(sources, states);
        Assert.Equal(Oracle(records, 200), Merge(states));
        Assert.Equal(records.Length, report.Records);
        Assert.Equal(splits, report.WorkersBusy.Length);
    }

    [Fact]
    public void An_empty_input_ends_at_once()
    {
        SumState[] states = [new SumState(1), new SumState(1)];
        PipelineReport report = SumPipeline.RunRouted(new MemorySource<SumRecord>(default, 10), states, new PipelineOptions());
        Assert.Equal(0, report.Records);
    }

    [Fact]
    public void A_partition_that_fails_ends_the_run_instead_of_blocking_the_router()
    {
        SumState[] states = [new SumState(1), new SumState(1)]; // Groups beyond 0 are out of range.
        AggregateException failure = Assert.Throws<AggregateException>(() => SumPipeline.RunRouted(
            new MemorySource<SumRecord>(Records(100_000, 10), 1000), states, new PipelineOptions { BatchSize = 10, QueueCapacity = 1 }));
        Assert.Contains(failure.Flatten().InnerExceptions, e => e is IndexOutOfRangeException);
    }

    [Theory]
    [InlineData(0)] // On a thread of its own.
    [InlineData(1)] // On the calling thread.
    public void A_split_that_fails_is_reported_after_all_have_been_joined(int failing)
    {
        SumState[] states = [new SumState(failing == 0 ? 1 : 10), new SumState(failing == 1 ? 1 : 10)];
        IRecordSource<SumRecord>[] sources =
        [
            new MemorySource<SumRecord>(Records(1000, 10), 10), new MemorySource<SumRecord>(Records(1000, 10), 10),
        ];
        Assert.Throws<AggregateException>(() => SumPipeline.RunSplit(sources, states));
        Assert.Equal(Oracle(Records(1000, 10), 10), states[1 - failing].Sums.ToArray());
    }

    [Fact]
    public void No_split_at_all_is_a_job_without_records() => Assert.Equal(0, SumPipeline.RunSplit([], []).Records);

    [Theory]
    [InlineData("hash", 1, false, true, false, RoutingError.None)]
    [InlineData("source", 2, true, true, false, RoutingError.None)]
    [InlineData("source", 2, false, true, true, RoutingError.SourceNotAligned)]
    [InlineData("source", 2, false, false, false, RoutingError.None)]
    [InlineData("source", 1, true, true, false, RoutingError.SourceNotSplit)]
    [InlineData("split-merge", 2, false, true, true, RoutingError.None)]
    [InlineData("split-merge", 2, false, true, false, RoutingError.StateNotMergeable)]
    [InlineData("split-merge", 1, false, true, true, RoutingError.SourceNotSplit)]
    [InlineData("round-robin", 1, false, false, false, RoutingError.None)]
    [InlineData("round-robin", 1, false, true, true, RoutingError.StatefulStage)]
    internal void A_strategy_is_refused_where_it_would_give_wrong_results(
        string name, int splits, bool aligned, bool stateful, bool mergeable, RoutingError expected)
    {
        Assert.Equal(RoutingError.None, RoutingPlan.TryParse(name, out RoutingStrategy strategy));
        Assert.Equal(expected, new RoutingPlan(splits, aligned, stateful, mergeable).Check(strategy));
    }

    [Fact]
    public void An_unknown_strategy_is_refused()
    {
        Assert.Equal(RoutingError.UnknownName, RoutingPlan.TryParse("random", out _));
    }
}
