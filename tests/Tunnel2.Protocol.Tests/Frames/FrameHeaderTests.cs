using FsCheck.Fluent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Tests.Frames;

public sealed class FrameHeaderTests
{
    [Fact]
    public void Any_header_survives_a_round_trip()
    {
        var headers =
            from length in Gen.Choose(0, (1 << 24) - 1)
            from type in Gen.Choose(0, 31)
            from flags in Gen.Choose(0, 7)
            from stream in Property.UInt32
            select new FrameHeader(length, (FrameType)type, (FrameFlags)(flags << 5), new StreamId(stream));
        Property.Holds(headers, header =>
        {
            Span<byte> bytes = stackalloc byte[FrameHeader.Size];
            header.Write(bytes);
            FrameHeader.TryRead(bytes, out var read);
            Assert.Equal(header, read);
        });
    }

    [Fact]
    public void Any_eight_bytes_are_judged_without_an_exception_and_written_back_the_same() => Property.Holds(Property.Bytes(8, 8), bytes =>
    {
        FrameHeader.TryRead(bytes, out var header);
        var written = new byte[FrameHeader.Size];
        header.Write(written);
        Assert.Equal(bytes, written);
    }, count: 2_000);

    [Fact]
    public void Writing_a_header_touches_eight_bytes_only()
    {
        var buffer = Enumerable.Repeat((byte)0xEE, 24).ToArray();
        new FrameHeader(0xFFFFFF, FrameType.GoAway, FrameFlags.Ack, new StreamId(uint.MaxValue)).Write(buffer.AsSpan(8));
        Assert.All(buffer[..8], value => Assert.Equal(0xEE, value));
        Assert.All(buffer[16..], value => Assert.Equal(0xEE, value));
    }

    [Theory]
    [InlineData(FrameType.Hello, 32_768)]
    [InlineData(FrameType.Welcome, 16_384)]
    [InlineData(FrameType.Reject, 2_048)]
    [InlineData(FrameType.Join, 1_024)]
    [InlineData(FrameType.Headers, 81_923)]
    [InlineData(FrameType.Data, 16_384)]
    [InlineData(FrameType.Rst, 4)]
    [InlineData(FrameType.Window, 4)]
    [InlineData(FrameType.Ping, 8)]
    [InlineData(FrameType.GoAway, 1_024)]
    [InlineData(FrameType.Service, 5)]
    [InlineData(FrameType.Nodes, 8_192)]
    [InlineData((FrameType)12, 16_384)]
    [InlineData((FrameType)31, 16_384)]
    public void A_payload_at_the_limit_is_accepted_and_one_byte_more_refused(FrameType type, int limit)
    {
        Assert.Equal(ProtocolError.None, Judge(limit, type));
        Assert.Equal(ProtocolError.FrameTooLong, Judge(limit + 1, type));
        Assert.Equal(ProtocolError.FrameTooLong, Judge((1 << 24) - 1, type));
    }

    [Theory]
    [InlineData(FrameType.Headers, 3)]
    [InlineData(FrameType.Rst, 4)]
    [InlineData(FrameType.Window, 4)]
    [InlineData(FrameType.Ping, 8)]
    [InlineData(FrameType.Service, 5)]
    [InlineData(FrameType.Nodes, 7)]
    public void A_payload_below_the_least_is_refused(FrameType type, int least)
    {
        Assert.Equal(ProtocolError.None, Judge(least, type));
        Assert.Equal(ProtocolError.FrameTooShort, Judge(least - 1, type));
        Assert.Equal(ProtocolError.FrameTooShort, Judge(0, type));
    }

    [Theory]
    [InlineData(FrameType.Hello, false, true)]
    [InlineData(FrameType.Welcome, false, true)]
    [InlineData(FrameType.Reject, false, true)]
    [InlineData(FrameType.Join, false, true)]
    [InlineData(FrameType.Headers, true, false)]
    [InlineData(FrameType.Data, true, false)]
    [InlineData(FrameType.Rst, true, false)]
    [InlineData(FrameType.Window, true, true)]
    [InlineData(FrameType.Ping, false, true)]
    [InlineData(FrameType.GoAway, false, true)]
    [InlineData(FrameType.Service, false, true)]
    [InlineData(FrameType.Nodes, false, true)]
    [InlineData((FrameType)12, true, true)]
    public void A_type_is_sent_on_a_stream_or_on_the_uplink_as_the_table_says(FrameType type, bool onStream, bool onUplink)
    {
        ProtocolError Expected(bool allowed) => allowed ? ProtocolError.None : ProtocolError.InvalidStreamId;
        Assert.Equal(Expected(onStream), Judge(LegalLength(type), type, new StreamId(0, 1)));
        Assert.Equal(Expected(onStream), Judge(LegalLength(type), type, new StreamId(65_535, 65_535)));
        Assert.Equal(Expected(onUplink), Judge(LegalLength(type), type, StreamId.Uplink));
        Assert.Equal(Expected(type == (FrameType)12), Judge(LegalLength(type), type, new StreamId(5, 0)));
    }

    [Fact]
    public void Type_0_is_refused_in_every_header()
    {
        Assert.Equal(ProtocolError.ReservedFrameType, Judge(0, FrameType.None, StreamId.Uplink));
        Assert.Equal(ProtocolError.ReservedFrameType, Judge(16, FrameType.None, new StreamId(1, 1)));
    }

    [Fact]
    public void The_critical_flag_ends_the_session_on_unknown_types_only()
    {
        for (var type = 1; type < 32; type++)
        {
            var kind = (FrameType)type;
            var header = new FrameHeader(LegalLength(kind), kind, FrameFlags.Critical, LegalStream(kind));
            Assert.Equal(header.IsKnown ? ProtocolError.None : ProtocolError.UnknownCriticalFrame, Judge(header));
            Assert.Equal(type is <= 10 or 13 or 14, header.IsKnown);
        }
    }

    [Fact]
    public void Flags_that_mean_nothing_on_a_type_are_ignored()
    {
        foreach (var type in Enum.GetValues<FrameType>().Where(type => type != FrameType.None))
        {
            var all = FrameFlags.Ack | FrameFlags.End | FrameFlags.Critical;
            Assert.Equal(ProtocolError.None, Judge(new FrameHeader(LegalLength(type), type, all, LegalStream(type))));
        }
    }

    [Fact]
    public void The_largest_frame_is_the_headers_limit_and_its_header() => Assert.Equal(81_931, ProtocolLimits.MaxFrameLength);

    private static int LegalLength(FrameType type) => type switch
    {
        FrameType.Ping => 8,
        FrameType.Service => 5,
        FrameType.Rst or FrameType.Window => 4,
        _ => 16,
    };

    private static StreamId LegalStream(FrameType type) =>
        type is FrameType.Data or FrameType.Headers or FrameType.Rst ? new StreamId(0, 1) : StreamId.Uplink;

    private static ProtocolError Judge(int length, FrameType type, StreamId? stream = null) =>
        Judge(new FrameHeader(length, type, FrameFlags.None, stream ?? LegalStream(type)));

    private static ProtocolError Judge(FrameHeader header)
    {
        Span<byte> bytes = stackalloc byte[FrameHeader.Size];
        header.Write(bytes);
        return FrameHeader.TryRead(bytes, out _);
    }
}
