using System.Text;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Tests.Records;

public sealed class RequestRecordTests
{
    private static RequestRecord Sample() => new()
    {
        SessionName = "web-1"u8,
        Target = "/a?b=1"u8,
        StartedUnixMicroseconds = 1_767_225_600_123_456,
        QueueMicroseconds = 1,
        FirstByteMicroseconds = 0x0203,
        BodyMicroseconds = 0x040506,
        TotalMicroseconds = 0x0708090A,
        BytesIn = 11,
        BytesOut = 0x0C0D_0E0F_1011_1213,
        SessionId = 0x8000_0000_0000_0001,
        StreamId = 0x14151617,
        UplinkId = 0x1819,
        Status = 404,
        ErrorCode = 0x1A1B,
        Method = RequestMethod.Post,
        Flags = RequestFlags.Upgraded | RequestFlags.Interim,
    };

    [Fact]
    public void The_layout_has_these_golden_bytes()
    {
        byte[] bytes = new byte[240];
        RequestRecord record = Sample();
        int length = RequestRecordCodec.Encode(bytes, record);
        Assert.Equal(
            "01060305" + "9401" + "1B1A" + "4022224648470600" // version…error code, started
            + "01000000" + "03020000" + "06050400" + "0A090807"
            + "0B00000000000000" + "131211100F0E0D0C" + "0100000000000080" + "17161514" + "1918" + "0600"
            + Convert.ToHexString("web-1/a?b=1"u8),
            Convert.ToHexString(bytes.AsSpan(0, length)));
    }

    [Fact]
    public void Every_field_survives_encoding_and_decoding()
    {
        byte[] bytes = new byte[240];
        RequestRecord sent = Sample();
        int length = RequestRecordCodec.Encode(bytes, sent);
        Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(bytes.AsSpan(0, length), out RequestRecord got));
        Assert.Equal("web-1", Encoding.ASCII.GetString(got.SessionName));
        Assert.Equal("/a?b=1", Encoding.ASCII.GetString(got.Target));
        Assert.Equal(
            (
                sent.StartedUnixMicroseconds, sent.QueueMicroseconds, sent.FirstByteMicroseconds, sent.BodyMicroseconds,
                sent.TotalMicroseconds),
            (got.StartedUnixMicroseconds, got.QueueMicroseconds, got.FirstByteMicroseconds, got.BodyMicroseconds, got.TotalMicroseconds));
        Assert.Equal(
            (
                sent.BytesIn, sent.BytesOut, sent.SessionId, sent.StreamId, sent.UplinkId, sent.Status, sent.ErrorCode, sent.Method,
                sent.Flags),
            (got.BytesIn, got.BytesOut, got.SessionId, got.StreamId, got.UplinkId, got.Status, got.ErrorCode, got.Method, got.Flags));
    }

    [Fact]
    public void A_long_target_is_cut_to_what_fits_and_marked()
    {
        byte[] bytes = new byte[240];
        var record = new RequestRecord
        {
            SessionName = new byte[50].AsSpan(),
            Target = new byte[10_000].AsSpan(),
            StartedUnixMicroseconds = RequestRecordCodec.MinTimestamp,
        };
        Assert.Equal(240, RequestRecordCodec.Encode(bytes, record));
        Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(bytes, out RequestRecord got));
        Assert.Equal(126, got.Target.Length);
        Assert.Equal(RequestFlags.TargetTruncated, got.Flags);
    }

    [Theory]
    [InlineData(0, 240)]
    [InlineData(51, 240)]
    [InlineData(5, 68)]
    public void A_record_without_a_proper_name_or_without_room_is_not_encoded(int nameLength, int room)
    {
        var record = new RequestRecord { SessionName = new byte[nameLength].AsSpan() };
        Assert.Equal(0, RequestRecordCodec.Encode(new byte[room], record));
    }

    [Fact]
    public void The_node_at_which_a_request_failed_is_at_its_end()
    {
        byte[] bytes = new byte[240];
        var record = new RequestRecord
        {
            SessionName = "-"u8,
            Target = "tcp:20001"u8,
            FailedAt = "e2"u8,
            StartedUnixMicroseconds = RequestRecordCodec.MinTimestamp,
        };
        byte[] sent = bytes[..RequestRecordCodec.Encode(bytes, record)];
        Assert.Equal(RecordDecodeStatus.Ok, RequestRecordCodec.Decode(sent, out RequestRecord got));
        Assert.Equal(("tcp:20001", "e2"), (Encoding.ASCII.GetString(got.Target), Encoding.ASCII.GetString(got.FailedAt)));

        // A reader of the release before refuses it, and says so: it is no record of version 1.
        Assert.Equal(RequestRecordCodec.VersionWithNode, sent[0]);
        Assert.Equal(RecordDecodeStatus.BadLengths, RequestRecordCodec.Decode(sent.AsSpan(0, sent.Length - 2), out _));
        Assert.Equal(RecordDecodeStatus.BadLengths, RequestRecordCodec.Decode([.. sent, .. new byte[31]], out _));
        var tooLong = new RequestRecord { SessionName = "-"u8, FailedAt = new byte[33].AsSpan() };
        Assert.Equal(0, RequestRecordCodec.Encode(new byte[400], tooLong));
    }

    [Fact]
    public void Bad_bytes_are_refused_with_the_reason()
    {
        byte[] good = new byte[240];
        RequestRecord record = Sample();
        good = good[..RequestRecordCodec.Encode(good, record)];
        Assert.Equal(RecordDecodeStatus.TooShort, RequestRecordCodec.Decode(good.AsSpan(0, 63), out _));
        Assert.Equal(RecordDecodeStatus.BadLengths, RequestRecordCodec.Decode(good.AsSpan(0, good.Length - 1), out _));
        Assert.Equal(RecordDecodeStatus.UnknownVersion, Decode(good, 0, 3));
        Assert.Equal(RecordDecodeStatus.BadLengths, Decode(good, 0, RequestRecordCodec.VersionWithNode));
        Assert.Equal(RecordDecodeStatus.BadLengths, Decode(good, 3, 200));
        Assert.Equal(RecordDecodeStatus.BadLengths, Decode(good, 62, 255));
        Assert.Equal(RecordDecodeStatus.BadTimestamp, Decode(good, 15, 0x7F));
        byte[] nameless = good[..64];
        nameless[3] = 0;
        nameless[62] = 0;
        Assert.Equal(RecordDecodeStatus.NoSession, RequestRecordCodec.Decode(nameless, out _));
    }

    [Fact]
    public void Random_bytes_never_throw()
    {
        var random = new Random(7);
        for (int i = 0; i < 100_000; i++)
        {
            byte[] bytes = new byte[random.Next(0, 240)];
            random.NextBytes(bytes);
            if (bytes.Length > 0)
            {
                bytes[0] = RequestRecordCodec.Version;
            }

            RequestRecordCodec.Decode(bytes, out _);
        }
    }

    private static RecordDecodeStatus Decode(byte[] good, int offset, byte value)
    {
        byte[] bytes = (byte[])good.Clone();
        bytes[offset] = value;
        return RequestRecordCodec.Decode(bytes, out _);
    }
}
