using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using SumPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Laboratory.Aggregation.SumRecord, Tunnel2.Laboratory.Aggregation.SumHash, Tunnel2.Laboratory.Aggregation.SumState>;

using SumSplits = Tunnel2.Laboratory.Aggregation.SplitPipeline<
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
        PipelineReport report = SumSplits.Run(sources, states);
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
        Assert.Throws<AggregateException>(() => SumSplits.Run(sources, states));
        Assert.Equal(Oracle(Records(1000, 10), 10), states[1 - failing].Sums.ToArray());
    }

    [Fact]
    public void No_split_at_all_is_a_job_without_records() => Assert.Equal(0, SumSplits.Run([], []).Records);

    [Theory]
    [InlineData(1, true, true, RoutingStrategy.Fused)]
    [InlineData(1, false, false, RoutingStrategy.Fused)]
    [InlineData(2, true, true, RoutingStrategy.SplitAndMerge)]
    [InlineData(2, true, false, RoutingStrategy.HashOfKey)]
    [InlineData(2, false, true, RoutingStrategy.HashOfKey)]
    internal void The_plan_moves_records_between_threads_only_where_it_has_to(
        int partitions, bool canBeSplit, bool mergeable, RoutingStrategy expected) =>
        Assert.Equal(expected, new RoutingPlan(partitions, canBeSplit, mergeable).Strategy);

    [Fact]
    public void A_watermark_reaches_partitions_without_records()
    {
        SeenState[] states = [new SeenState(), new SeenState(), new SeenState()];
        using var router = new PartitionRouter<SumRecord, SumHash, SeenState>(states, new PipelineOptions { Workers = 2 });
        router.Route([new SumRecord(1, 1)], 3);
        router.HandOver(7);
        router.HandOver(9);
        router.Complete();
        Assert.Equal(1, router.Records);
        Assert.Equal(1, states.Sum(state => state.Records));
        Assert.All(states, state => Assert.Equal([7, 9], state.Watermarks));
        Assert.All(states, state => Assert.True(state.IsComplete));
    }

    [Fact]
    public void A_router_whose_partition_has_failed_says_so_when_it_hands_over_and_at_the_end()
    {
        SumState[] states = [new SumState(1)]; // Groups beyond 0 are out of range.
        using var router = new PartitionRouter<SumRecord, SumHash, SumState>(states, new PipelineOptions { QueueCapacity = 1 });
        router.Route([new SumRecord(5, 1)], 0);

        // The first batch ends the worker, the second may still find room, and the third waits for a worker that is no more.
        InvalidOperationException failure = Assert.Throws<InvalidOperationException>(() =>
        {
            for (int i = 0; i < 3; i++)
            {
                router.HandOver(0);
            }
        });
        Assert.IsType<IndexOutOfRangeException>(failure.InnerException);
        Assert.IsType<IndexOutOfRangeException>(Assert.Single(Assert.Throws<AggregateException>(router.Complete).InnerExceptions));
    }

    /// <summary>What its worker gave it.</summary>
    private sealed class SeenState : IPartitionState<SumRecord>
    {
        internal int Records { get; private set; }

        internal List<long> Watermarks { get; } = [];

        internal bool IsComplete { get; private set; }

        public void Process(ReadOnlySpan<SumRecord> batch) => Records += batch.Length;

        public void AdvanceTo(long watermark) => Watermarks.Add(watermark);

        public void Complete() => IsComplete = true;
    }
}
