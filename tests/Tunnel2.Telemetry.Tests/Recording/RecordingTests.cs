using Tunnel2.Laboratory.Aggregation;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Telemetry.Tests.Recording;

public sealed class RecordingTests
{
    private static byte[] Record(Action<RecordingWriter> write)
    {
        var stream = new MemoryStream();
        var writer = new RecordingWriter(stream);
        write(writer);
        writer.Flush();
        return stream.ToArray();
    }

    private static (List<string> Seen, RecordingStatus Status) Read(byte[] file)
    {
        var sink = new Sink();
        using var reader = new RecordingReader(new MemoryStream(file));
        while (reader.TryRead(sink))
        {
        }

        return (sink.Seen, reader.Status);
    }

    [Fact]
    public void What_was_recorded_comes_back_with_its_numbers_and_gaps()
    {
        byte[] file = Record(writer =>
        {
            writer.Add(5, 1, "a"u8);
            writer.Add(6, 1, "bc"u8);
            writer.Add(9, 1, ""u8);
            writer.Add(new RingGap(10, 3, RingGapReason.Overwritten));
            for (int i = 13; i < 3000; i++)
            {
                writer.Add(i, 1, new byte[200]);
            }
        });
        (List<string> seen, RecordingStatus status) = Read(file);
        Assert.Equal(RecordingStatus.Complete, status);
        Assert.Equal(["5:1", "6:2", "9:0", "gap 10+3", "13:200"], seen.Take(5));
        Assert.Equal("2999:200", seen[^1]);
        Assert.Equal(4 + 3000 - 13, seen.Count);
    }

    [Fact]
    public void A_file_cut_off_anywhere_gives_all_whole_frames_and_says_so()
    {
        byte[] file = Record(writer =>
        {
            for (int i = 0; i < 4; i++)
            {
                writer.Add(i, 1, new byte[50]);
                writer.Flush();
            }
        });
        for (int length = 17; length < file.Length; length++)
        {
            (List<string> seen, RecordingStatus status) = Read(file[..length]);
            Assert.Equal((length - 16) / ((file.Length - 16) / 4), seen.Count);
            Assert.Equal((length - 16) % ((file.Length - 16) / 4) == 0 ? RecordingStatus.Complete : RecordingStatus.CutShort, status);
        }
    }

    [Fact]
    public void A_changed_byte_is_found_and_a_stranger_is_refused()
    {
        byte[] file = Record(writer => writer.Add(0, 1, "hello"u8));
        for (int i = 16; i < file.Length; i++)
        {
            byte[] changed = (byte[])file.Clone();
            changed[i] ^= 1;
            Assert.NotEqual(RecordingStatus.Complete, Read(changed).Status);
        }

        Assert.Equal(RecordingStatus.NotARecording, Read(new byte[100]).Status);
        Assert.Equal(RecordingStatus.NotARecording, Read([]).Status);
        byte[] other = (byte[])file.Clone();
        other[8] = 2;
        Assert.Equal(RecordingStatus.UnsupportedVersion, Read(other).Status);
    }

    [Fact]
    public void A_gap_of_less_than_nothing_is_damage()
    {
        byte[] file = Record(writer => writer.Add(new RingGap(10, -3, RingGapReason.Overwritten)));
        (List<string> seen, RecordingStatus status) = Read(file);
        Assert.Equal(RecordingStatus.Damaged, status);
        Assert.Empty(seen);
    }

    [Fact]
    public void Aggregation_over_a_recording_counts_requests_and_what_was_missed()
    {
        byte[] payload = new byte[240];
        var record = new RequestRecord
        {
            SessionName = "web"u8,
            Target = "/"u8,
            StartedUnixMicroseconds = 1_795_274_448_000_000,
            TotalMicroseconds = 1000,
            BytesOut = 7,
        };
        int length = RequestRecordCodec.Encode(payload, record);
        byte[] file = Record(writer =>
        {
            for (int i = 0; i < 100; i++)
            {
                writer.Add(i, 1, payload.AsSpan(0, length));
            }

            writer.Add(new RingGap(100, 5, RingGapReason.Overwritten));
        });
        var merger = new WindowMerger();
        using var reader = new RecordingReader(new MemoryStream(file));
        var source = new RecordingSource(reader, new RequestIntake(new WatermarkFilter()));
        PartitionedPipeline<RequestSample, SessionHash, WindowedState>.RunFused(source, new WindowedState(merger));
        Assert.Equal(5, source.Missed);
        Assert.All(merger.Results(), w => Assert.Equal((100, 700ul), (w.Requests, w.BytesOut)));
        Assert.Equal(3, merger.Results().Count);
    }

    [Fact]
    public void The_report_of_an_open_connection_brings_bytes_and_no_request()
    {
        byte[] payload = new byte[240];
        var record = new RequestRecord
        {
            SessionName = "web"u8,
            StartedUnixMicroseconds = 1_795_274_448_000_000,
            TotalMicroseconds = 1000,
            BytesOut = 7,
            Flags = RequestFlags.Interim,
        };
        int length = RequestRecordCodec.Encode(payload, record);
        var intake = new RequestIntake(new WatermarkFilter());
        Assert.True(intake.TryTake(1, payload.AsSpan(0, length), out RequestSample sample));
        var cell = new WindowCell();
        cell.Add(sample);
        Assert.Equal((0, 7ul), (cell.Requests, cell.BytesOut));
    }

    private sealed class Sink : IEventRelaySink
    {
        internal List<string> Seen { get; } = [];

        public void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload) => Seen.Add($"{sequence}:{payload.Length}");

        public void OnGap(RingGap gap) => Seen.Add($"gap {gap.First}+{gap.Count}");

        public void OnSlowWarning(long behind, long limit) => Seen.Add("slow");
    }
}
