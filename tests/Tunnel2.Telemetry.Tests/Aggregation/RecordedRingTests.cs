using System.Text;
using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Laboratory.EventRing;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.Tests.EventRing;
using Tunnel2.TestUtilities;
using WindowPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;
using WindowSplits = Tunnel2.Laboratory.Aggregation.SplitPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;

namespace Tunnel2.Telemetry.Tests.Aggregation;

public sealed class RecordedRingTests
{
    private static void Record(EventRingProducer producer, in RequestSample sample)
    {
        byte[] name = Encoding.ASCII.GetBytes($"session-{sample.Key}");
        producer.TryClaim(out RingClaim claim);
        var record = new RequestRecord
        {
            SessionName = name,
            Target = "/"u8,
            StartedUnixMicroseconds = sample.EndedUnixMicroseconds - sample.LatencyMicroseconds,
            TotalMicroseconds = sample.LatencyMicroseconds,
            BytesIn = sample.BytesIn,
            BytesOut = sample.BytesOut,
            ErrorCode = sample.ErrorCode,
        };
        Assert.True(claim.Commit((ushort)RecordType.Request, RequestRecordCodec.Encode(claim.Payload, record)));
    }

    private static RingRequestSource Source(RingFixture f, long from, long end) => new(
        f.Ring, f.Ring.CreateReader(new EventRingReaderOptions { From = from }), new RequestIntake(new WatermarkFilter()), 500, end);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void The_whole_job_from_a_recorded_ring_equals_the_oracle(bool split)
    {
        RequestSample[] samples = AggregationOracle.Traffic(21, 8000, 30, disorderMicroseconds: 1_000_000);
        using var f = new RingFixture(new EventRingOptions { Capacity = 8192 });
        EventRingProducer producer = f.Ring.CreateProducer();
        Array.ForEach(samples, s => Record(producer, s));
        RingRequestSource[] sources = split ? [Source(f, 0, 3000), Source(f, 3000, 8000)] : [Source(f, 0, 8000)];
        WindowMerger[] mergers = [.. sources.Select(_ => new WindowMerger())];
        PipelineReport report = WindowSplits.Run(sources, [.. mergers.Select(m => new WindowedState(m))]);

        // Each split numbers the sessions by itself; the oracle's numbers are in the names.
        var merged = new WindowMerger();
        for (int i = 0; i < sources.Length; i++)
        {
            SessionKeyTable names = sources[i].Intake.Sessions;
            merged.Absorb(mergers[i], k => int.Parse(names.Name(k).AsSpan(8)));
        }

        Assert.Equal(8000, report.Records);
        Assert.Equal(AggregationOracle.Windows(samples, 2_000_000, out _), merged.Results());
        Assert.All(sources, s => Assert.Equal(0, s.Intake.DeadLetters.Total));
    }

    [Fact]
    public void Bad_records_are_counted_by_reason_and_never_continue()
    {
        using var f = new RingFixture(new EventRingOptions { Capacity = 64 });
        EventRingProducer producer = f.Ring.CreateProducer();
        var good = new RequestSample(1_767_225_600_000_000, 1, 5, 0, 0, 0);
        Record(producer, good);
        producer.TryPublish(77, "other"u8);
        producer.TryPublish(1, "short"u8);
        byte[] bytes = new byte[240];
        int length = RequestRecordCodec.Encode(bytes, new RequestRecord { SessionName = "x"u8, StartedUnixMicroseconds = 5 });
        producer.TryPublish(1, bytes.AsSpan(0, length));
        bytes[0] = 9;
        producer.TryPublish(1, bytes.AsSpan(0, length));
        producer.TryPublish(1, bytes.AsSpan(0, length));
        producer.TryClaim(out RingClaim claim);
        claim.Abandon();
        Record(producer, good);
        RingRequestSource source = Source(f, 0, 8);
        var merger = new WindowMerger();
        PipelineReport report = WindowPipeline.RunFused(source, new WindowedState(merger));
        Assert.Equal(2, report.Records);
        Assert.Equal(5, source.Intake.DeadLetters.Total);
        Assert.Equal(1, source.Intake.DeadLetters[RecordDecodeStatus.WrongType]);
        Assert.Equal(1, source.Intake.DeadLetters[RecordDecodeStatus.TooShort]);
        Assert.Equal(1, source.Intake.DeadLetters[RecordDecodeStatus.BadTimestamp]);
        Assert.Equal(2, source.Intake.DeadLetters[RecordDecodeStatus.UnknownVersion]);
        Assert.Equal(1, source.Missed);
        Assert.Equal(2, merger.Results()[0].Requests);
    }

    [Fact]
    public async Task A_live_source_follows_the_ring_until_it_is_stopped()
    {
        const long First = 1_767_225_600_000_000;
        using var f = new RingFixture();

        // Before all records: a source that is idle for a while, on a busy machine, makes none of them late.
        var time = new ManualTimeProvider(DateTimeOffset.UnixEpoch.AddMicroseconds(First));
        using var ring = SharedEventRing.Create(f.Copy, new EventRingOptions { Capacity = 1024, Time = time });
        using var stop = new CancellationTokenSource();
        EventRingProducer producer = ring.CreateProducer();
        var taken = new TakenRecords();
        var source = new RingRequestSource(
            ring, ring.CreateReader(RingFixture.Oldest), new RequestIntake(new WatermarkFilter()), 100, long.MaxValue, taken, stop.Token);
        var merger = new WindowMerger();
        Task<PipelineReport> running = Task.Run(() => WindowPipeline.RunFused(source, new WindowedState(merger)));
        for (int i = 0; i < 500; i++)
        {
            Record(producer, new RequestSample(First + (i * 10_000), i % 3, 5, 0, 0, 0));
        }

        await taken.Count.WaitForAsync(500);
        await stop.CancelAsync();
        PipelineReport report = await running.WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Equal(500, report.Records);
        Assert.Equal(3, source.Intake.Sessions.Count);
        Assert.True(source.Watermark > First + 2_900_000);
    }

    private sealed class TakenRecords : IRecordObserver
    {
        internal AsyncCounter Count { get; } = new("records that were taken");

        public void OnRecord(long sequence, int key, ReadOnlySpan<byte> payload) => Count.Increment();
    }

    [Fact]
    public void What_comes_while_an_idle_source_reads_the_clock_is_not_late()
    {
        const long Ended = 1_767_225_600_000_000;
        using var f = new RingFixture();
        var clock = new InterruptedClock { Now = DateTimeOffset.UnixEpoch.AddMicroseconds(Ended + 5_000_000) };
        using var ring = SharedEventRing.Create(f.Copy, new EventRingOptions { Capacity = 64, Time = clock });
        EventRingProducer producer = ring.CreateProducer();
        var source = new RingRequestSource(
            ring, ring.CreateReader(RingFixture.Oldest), new RequestIntake(new WatermarkFilter(TimeSpan.FromMilliseconds(500))), 100,
            long.MaxValue);
        clock.Interruption = () => Record(producer, new RequestSample(Ended, 0, 5, 0, 0, 0));
        int records = 0;
        do
        {
            Assert.True(source.TryRead(out ReadOnlySpan<RequestSample> batch));
            records += batch.Length;
        }
        while (records == 0 && source.Intake.Late == 0);

        Assert.Equal((1, 0), (records, source.Intake.Late));

        // The clock closes its window all the same.
        while (source.Watermark < Ended + 4_500_000)
        {
            Assert.True(source.TryRead(out _));
        }
    }

    [Fact]
    public void Sessions_are_numbered_in_the_order_of_first_sight_and_keep_their_numbers()
    {
        var table = new SessionKeyTable();
        for (int round = 0; round < 2; round++)
        {
            for (int i = 0; i < 5000; i++)
            {
                Assert.Equal(i, table.GetOrAdd(Encoding.ASCII.GetBytes($"s{i}")));
            }
        }

        Assert.Equal(5000, table.Count);
        Assert.Equal("s4999", table.Name(4999));
    }

    /// <summary>A clock that interrupts its first reader, as a busy machine interrupts a thread.</summary>
    private sealed class InterruptedClock : TimeProvider
    {
        private Action? _interruption;

        public DateTimeOffset Now { get; init; }

        public Action Interruption
        {
            set => _interruption = value;
        }

        public override DateTimeOffset GetUtcNow()
        {
            Interlocked.Exchange(ref _interruption, null)?.Invoke();
            return Now;
        }
    }
}
