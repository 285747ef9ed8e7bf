using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Tests.Aggregation;

/// <summary>A recording that several partitions share comes to what one makes of it: every window, every counter, every number.</summary>
public sealed class PartitionedRecordingTests
{
    private const int Lateness = 60;

    [Theory]
    [InlineData(2, 100_000)]
    [InlineData(2, 7_000)]
    [InlineData(3, 50)] // Less than a frame.
    [InlineData(8, 20_000)]
    [InlineData(64, 1_000_000)]
    public void Every_window_and_total_is_that_of_one_partition(int partitions, int chunk)
    {
        RequestSample[] samples = AggregationOracle.Traffic(31, 20_000, 300, disorderMicroseconds: 1_000_000);
        byte[] file = Recording(samples, random: new Random(5));
        PartitionedRecording<Windows> shared = Partitioned(file);
        AssertSame(Whole(file), shared.Run(partitions, chunk));

        // Of chunks that are longer than a frame only the last may have none.
        Assert.True(chunk < 100_000 || shared.ReadAgain <= 1, $"{shared.ReadAgain} chunks were read again");
    }

    [Fact]
    public void One_partition_gives_the_oracles_windows()
    {
        RequestSample[] samples = AggregationOracle.Traffic(32, 5000, 20, disorderMicroseconds: 100_000_000);
        RecordingStatistics<Windows> whole = Whole(Recording(samples));
        List<WindowResult> expected = AggregationOracle.Windows(samples, Lateness * 1_000_000L, out long late);
        Assert.NotEqual(0, late);
        Assert.Equal(late, whole.Late);
        Assert.Equal(samples.Length - late, whole.Records);

        // The oracle has the sample's own numbers; they are in the names.
        var renumbered = new WindowMerger();
        renumbered.Absorb(whole.Totals.Merged, key => int.Parse(whole.Sessions.Name(key).AsSpan(8)));
        Assert.Equal(expected, renumbered.Results());
    }

    [Fact]
    public void A_chunk_that_took_in_what_is_late_for_the_chunks_before_is_read_again()
    {
        RequestSample[] samples = AggregationOracle.Traffic(33, 20_000, 50, disorderMicroseconds: 100_000_000);
        byte[] file = Recording(samples);
        RecordingStatistics<Windows> whole = Whole(file);
        Assert.NotEqual(0, whole.Late);
        PartitionedRecording<Windows> shared = Partitioned(file);
        AssertSame(whole, shared.Run(4, 100_000));
        Assert.NotEqual(0, shared.ReadAgain);
    }

    [Fact]
    public void Any_recording_gives_the_same_with_any_number_of_partitions()
    {
        Prop.ForAll(Gen.Choose(0, int.MaxValue).ToArbitrary(), seed =>
        {
            var random = new Random(seed);
            byte[] file = Recording(
                AggregationOracle.Traffic(seed, random.Next(1, 3000), random.Next(1, 60), random.Next(150_000_000)), random);
            AssertSame(Whole(file), Partitioned(file).Run(random.Next(2, 6), random.Next(20, file.Length + 100)));
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(60));
    }

    [Fact]
    public void Bytes_in_a_record_that_look_like_a_frame_are_not_taken_for_one()
    {
        byte[] inner = Recording(AggregationOracle.Traffic(1, 20, 3))[RecordingFormat.HeaderLength..];
        byte[] file = Write(writer =>
        {
            for (int i = 0; i < 50; i++)
            {
                writer.Add(i, 1, inner);
            }
        });
        RecordingStatistics<Windows> whole = Whole(file);
        Assert.Equal((0, 50), (whole.Records, whole.Unreadable));
        PartitionedRecording<Windows> shared = Partitioned(file);
        AssertSame(whole, shared.Run(3, 5000));
        Assert.NotEqual(0, shared.ReadAgain);
    }

    [Fact]
    public void A_recording_that_is_cut_or_damaged_anywhere_counts_up_to_there_and_says_the_same()
    {
        byte[] file = Recording(AggregationOracle.Traffic(34, 300, 10), new Random(6));
        for (int at = 0; at < file.Length; at += 97)
        {
            AssertSame(Whole(file[..at]), Partitioned(file[..at]).Run(3, 3000));
            byte[] changed = [.. file];
            changed[at] ^= 0x10;
            AssertSame(Whole(changed), Partitioned(changed).Run(3, 3000));
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    public void One_that_is_stopped_is_that_of_a_beginning_of_the_file(int partitions)
    {
        byte[] file = Recording(AggregationOracle.Traffic(35, 20_000, 100, disorderMicroseconds: 70_000_000), new Random(7));
        int partial = 0;
        for (int reads = 1; reads < 16; reads += 2)
        {
            using var stop = new CancellationTokenSource();
            var hook = new ReadHook(reads, stop.Cancel);
            RecordingStatistics<Windows> stopped = new PartitionedRecording<Windows>(
                () => new HookedStream(file, hook), TimeSpan.FromSeconds(Lateness), static () => new Windows(), stop.Token)
                .Run(partitions, 50_000);
            RecordingStatistics<Windows> beginning = Whole(file[..(int)stopped.Position]);
            Assert.Equal(RecordingStatus.Complete, beginning.Status);
            AssertSame(beginning, stopped with { Status = RecordingStatus.Complete });
            partial += stopped.Status == RecordingStatus.Reading && stopped.Position < file.Length ? 1 : 0;
        }

        Assert.NotEqual(0, partial);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public void A_disk_that_fails_ends_the_run_with_its_error(int partitions)
    {
        byte[] file = Recording(AggregationOracle.Traffic(36, 20_000, 10));
        var hook = new ReadHook(4, static () => throw new IOException("the disk"));
        var recording = new PartitionedRecording<Windows>(
            () => new HookedStream(file, hook), TimeSpan.FromSeconds(Lateness), static () => new Windows());
        Assert.Equal("the disk", Assert.Throws<IOException>(() => recording.Run(partitions, 50_000)).Message);
    }

    [Fact]
    public void Progress_ends_at_the_files_length()
    {
        byte[] file = Recording(AggregationOracle.Traffic(37, 20_000, 10, disorderMicroseconds: 100_000_000));
        PartitionedRecording<Windows> shared = Partitioned(file);
        shared.Run(3, 20_000);
        Assert.NotEqual(0, shared.ReadAgain);
        Assert.Equal(file.Length - RecordingFormat.HeaderLength, shared.Progress.Bytes);
    }

    [Fact]
    public void Totals_of_sessions_are_the_same_with_their_errors_by_code()
    {
        byte[] file = Recording(AggregationOracle.Traffic(38, 20_000, 300));
        string whole = Lines(1);
        Assert.Equal(300, whole.Split('\n').Length);

        // Every record is in exactly one minute.
        RecordingStatistics<Windows> windows = Whole(file);
        var minutes = windows.Totals.Merged.Results().Where(window => window.Seconds == 60).ToLookup(window => window.Key);
        Assert.Equal(
            minutes.Select(one => $"{windows.Sessions.Name(one.Key)} {one.Sum(w => w.Requests)} {one.Sum(w => w.Errors)}").Order(),
            whole.Split('\n').Select(line => line.Split('|')[0]).Order());
        Assert.Equal(whole, Lines(2));
        Assert.Equal(whole, Lines(7));

        string Lines(int partitions)
        {
            RecordingStatistics<SessionTotals> statistics = new PartitionedRecording<SessionTotals>(
                () => new MemoryStream(file), TimeSpan.FromSeconds(Lateness), static () => new SessionTotals()).Run(partitions, 30_000);
            return string.Join('\n', statistics.Totals.Results().Select(
                row => $"{statistics.Sessions.Name(row.Key)} {row.Requests} {row.Errors}|{row} "
                    + string.Join(' ', statistics.Totals.Errors(row.Key))));
        }
    }

    private static RecordingStatistics<Windows> Whole(byte[] file) => Partitioned(file).Run(1);

    private static PartitionedRecording<Windows> Partitioned(byte[] file) =>
        new(() => new MemoryStream(file), TimeSpan.FromSeconds(Lateness), static () => new Windows());

    private static void AssertSame(RecordingStatistics<Windows> expected, RecordingStatistics<Windows> actual)
    {
        Assert.Equal(
            (expected.Status, expected.Position, expected.Records, expected.Late, expected.Unreadable, expected.Missed),
            (actual.Status, actual.Position, actual.Records, actual.Late, actual.Unreadable, actual.Missed));
        Assert.Equal(Names(expected), Names(actual));
        Assert.Equal(expected.Totals.Merged.Results(), actual.Totals.Merged.Results());

        static IEnumerable<string> Names(RecordingStatistics<Windows> statistics) =>
            Enumerable.Range(0, statistics.Sessions.Count).Select(statistics.Sessions.Name);
    }

    /// <summary>The samples as records; with <paramref name="random"/> also frames of any length, gaps, and what is no request.</summary>
    private static byte[] Recording(RequestSample[] samples, Random? random = null) => Write(writer =>
    {
        long sequence = 0;
        byte[] payload = new byte[240];
        foreach (RequestSample sample in samples)
        {
            int length = RequestRecordCodec.Encode(payload, new RequestRecord
            {
                SessionName = Encoding.ASCII.GetBytes($"session-{sample.Key}"),
                Target = "/items?page=2"u8,
                StartedUnixMicroseconds = sample.EndedUnixMicroseconds - sample.LatencyMicroseconds,
                TotalMicroseconds = sample.LatencyMicroseconds,
                BytesIn = sample.BytesIn,
                BytesOut = sample.BytesOut,
                ErrorCode = sample.ErrorCode,
            });
            writer.Add(sequence++, (ushort)RecordType.Request, payload.AsSpan(0, length));
            switch (random?.Next(300) ?? 0)
            {
                case 1:
                    writer.Flush();
                    break;
                case 2:
                    writer.Add(sequence++, 77, "other"u8);
                    break;
                case 3:
                    writer.Add(new RingGap(sequence, 5, RingGapReason.Overwritten));
                    sequence += 5;
                    break;
            }
        }
    });

    private static byte[] Write(Action<RecordingWriter> write)
    {
        var stream = new MemoryStream();
        var writer = new RecordingWriter(stream);
        write(writer);
        writer.Flush();
        return stream.ToArray();
    }

    /// <summary>All windows of a part of the recording.</summary>
    private sealed class Windows : IMergeableState<Windows>
    {
        private readonly WindowedState _state;

        internal Windows()
        {
            _state = new WindowedState(Merged);
        }

        internal WindowMerger Merged { get; } = new();

        public void Process(ReadOnlySpan<RequestSample> batch) => _state.Process(batch);

        public void AdvanceTo(long watermark) => _state.AdvanceTo(watermark);

        public void Complete() => _state.Complete();

        public void Absorb(Windows other, Func<int, int> renumber) => Merged.Absorb(other.Merged, renumber);
    }

    /// <summary>Does something at one of the reads of all streams together.</summary>
    private sealed class ReadHook(int at, Action action)
    {
        private int _reads;

        internal void OnRead()
        {
            if (Interlocked.Increment(ref _reads) == at)
            {
                action();
            }
        }
    }

    /// <summary>Gives a few bytes at a time, so that there are many reads.</summary>
    private sealed class HookedStream(byte[] file, ReadHook hook) : MemoryStream(file)
    {
        public override int Read(byte[] buffer, int offset, int count)
        {
            hook.OnRead();
            return base.Read(buffer, offset, Math.Min(count, 100_000));
        }
    }
}
