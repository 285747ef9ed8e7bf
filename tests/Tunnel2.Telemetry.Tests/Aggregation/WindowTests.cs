using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using WindowPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;
using WindowSplits = Tunnel2.Laboratory.Aggregation.SplitPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;

namespace Tunnel2.Telemetry.Tests.Aggregation;

public sealed class WindowTests
{
    private const long Lateness = 2_000_000;
    private const long T0 = 1_767_225_600_000_000; // A whole minute.

    private static List<WindowResult> Run(RequestSample[] samples, int partitions, int batch, out long late)
    {
        var filter = new WatermarkFilter();
        var source = new SampleSource(samples, filter, batch);
        WindowMerger[] mergers = [.. Enumerable.Range(0, partitions).Select(_ => new WindowMerger())];
        WindowedState[] states = [.. mergers.Select(m => new WindowedState(m))];
        if (partitions == 1)
        {
            WindowPipeline.RunFused(source, states[0]);
        }
        else
        {
            WindowPipeline.RunRouted(source, states, new PipelineOptions { BatchSize = batch });
        }

        for (int i = 1; i < partitions; i++)
        {
            mergers[0].Absorb(mergers[i], k => k);
        }

        late = filter.Late;
        return mergers[0].Results();
    }

    private static RequestSample At(double seconds, int key = 0, uint latency = 100) =>
        new(T0 + (long)(seconds * 1e6), key, latency, 1, 2, 0);

    [Theory]
    [InlineData(1, 1000)]
    [InlineData(1, 1)]
    [InlineData(2, 100)]
    [InlineData(3, 17)]
    [InlineData(8, 1000)]
    public void Windows_equal_the_oracle_record_for_record(int partitions, int batch)
    {
        RequestSample[] samples = AggregationOracle.Traffic(11, 30_000, 50);
        List<WindowResult> expected = AggregationOracle.Windows(samples, Lateness, out long expectedLate);
        List<WindowResult> actual = Run(samples, partitions, batch, out long late);
        Assert.Equal(expected, actual);
        Assert.Equal(expectedLate, late);
        Assert.InRange(late, 1, samples.Length / 4);
    }

    [Fact]
    public void Any_traffic_gives_the_oracles_windows()
    {
        Prop.ForAll(Gen.Choose(0, int.MaxValue).ToArbitrary(), seed =>
        {
            var random = new Random(seed);
            RequestSample[] samples = AggregationOracle.Traffic(seed, random.Next(1, 3000), random.Next(1, 30), random.Next(100_000_000));
            List<WindowResult> expected = AggregationOracle.Windows(samples, Lateness, out long expectedLate);
            Assert.Equal(expected, Run(samples, random.Next(1, 5), random.Next(1, 200), out long late));
            Assert.Equal(expectedLate, late);
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(60));
    }

    [Fact]
    public void A_window_closes_when_the_watermark_has_passed_its_end_and_not_before()
    {
        var sink = new ListSink();
        var state = new WindowedState(sink);
        state.Process([At(0.5), At(1.5)]);
        state.AdvanceTo(T0 + 999_999);
        Assert.Empty(sink.Windows);
        state.AdvanceTo(T0 + 1_000_000);
        Assert.Equal([(1, 0.0)], sink.Windows);
        state.AdvanceTo(T0 + 60_000_000);
        Assert.Equal([(1, 0.0), (1, 1.0), (10, 0.0), (60, 0.0)], sink.Windows);
        state.Complete();
        Assert.Equal(4, sink.Windows.Count);
    }

    [Fact]
    public void A_partition_without_new_records_closes_its_longer_windows_by_the_watermark()
    {
        var sink = new ListSink();
        var state = new WindowedState(sink);
        state.Process([At(12)]);
        state.AdvanceTo(T0 + 13_000_000);
        Assert.Equal([(1, 12.0)], sink.Windows);
        state.AdvanceTo(T0 + 20_000_000);
        Assert.Equal([(1, 12.0), (10, 10.0)], sink.Windows);
        state.AdvanceTo(T0 + 60_000_000);
        Assert.Equal([(1, 12.0), (10, 10.0), (60, 0.0)], sink.Windows);
    }

    [Fact]
    public void A_record_as_late_as_allowed_counts_and_one_that_is_later_is_counted_as_late()
    {
        var filter = new WatermarkFilter();
        Assert.True(filter.Admit(T0 + 3_500_000)); // The watermark is at 1.5 s: second 1 is open, second 0 is not.
        Assert.True(filter.Admit(T0 + 1_000_000));
        Assert.False(filter.Admit(T0 + 999_999));
        Assert.Equal(1, filter.Late);
    }

    [Fact]
    public void An_idle_source_moves_on_with_the_clock()
    {
        var filter = new WatermarkFilter();
        Assert.True(filter.Admit(T0));
        filter.AdvanceTo(T0 + 10_000_000);
        Assert.Equal(T0 + 8_000_000, filter.Watermark);
        filter.AdvanceTo(T0);
        Assert.Equal(T0 + 8_000_000, filter.Watermark);
        Assert.False(filter.Admit(T0 + 1));
    }

    [Fact]
    public void Splits_with_local_state_equal_the_oracle_once_merged()
    {
        RequestSample[] samples = AggregationOracle.Traffic(12, 20_000, 40, disorderMicroseconds: 1_000_000);
        List<WindowResult> expected = AggregationOracle.Windows(samples, Lateness, out long late);
        Assert.Equal(0, late);
        WindowMerger[] mergers = [new(), new()];
        WindowedState[] states = [.. mergers.Select(m => new WindowedState(m))];
        WindowSplits.Run(
            [
                new SampleSource(samples[..9_999], new WatermarkFilter(), 500),
                new SampleSource(samples[9_999..], new WatermarkFilter(), 500),
            ],
            states);
        mergers[0].Absorb(mergers[1], k => k);
        Assert.Equal(expected, mergers[0].Results());
    }

    [Fact]
    public void Errors_are_counted_by_code()
    {
        var a = new WindowCell();
        var b = new WindowCell();
        a.Add(At(0) with { ErrorCode = 5 });
        b.Add(At(0) with { ErrorCode = 5 });
        b.Add(At(0) with { ErrorCode = 7 });
        b.Add(At(0));
        a.Merge(b);
        Assert.Equal(3, a.Errors);
        Assert.Equal(new Dictionary<ushort, long> { [5] = 2, [7] = 1 }, a.ErrorsByCode);
        a.Clear();
        Assert.Null(a.ErrorsByCode);
    }

    private sealed class ListSink : IWindowSink
    {
        internal List<(int Seconds, double Start)> Windows { get; } = [];

        public void OnWindow(int key, long start, int seconds, WindowCell cell) => Windows.Add((seconds, (start - T0) / 1e6));
    }
}
