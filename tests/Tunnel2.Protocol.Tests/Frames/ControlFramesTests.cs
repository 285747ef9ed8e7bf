using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Tests.Frames;

public sealed class ControlFramesTests
{
    private const byte Canary = 0xEE;

    private static Gen<StreamId> Streams =>
        from slot in Gen.Choose(0, 65_535)
        from generation in Gen.Choose(1, 65_535)
        select new StreamId(slot, (ushort)generation);

    [Fact]
    public void Any_rst_survives_a_round_trip() => Property.Holds(
        Streams.SelectMany(stream => Property.UInt32.Select(value => (stream, value))),
        sample =>
        {
            var (reason, detail) = ((StreamResetReason)(sample.value >> 16), (StreamResetDetail)(ushort)sample.value);
            var payload = Written(
                ControlFrames.RstSize, FrameType.Rst, sample.stream, span => ControlFrames.WriteRst(span, sample.stream, reason, detail));
            Assert.Equal(reason, ControlFrames.ReadRst(payload, out var readDetail));
            Assert.Equal(detail, readDetail);
        });

    [Fact]
    public void Any_window_survives_a_round_trip() => Property.Holds(
        Streams.SelectMany(stream => Gen.Choose(1, int.MaxValue).Select(increment => (stream, increment))),
        sample =>
        {
            var payload = Written(
                ControlFrames.WindowSize,
                FrameType.Window,
                sample.stream,
                span => ControlFrames.WriteWindow(span, sample.stream, sample.increment));
            Assert.Equal(ProtocolError.None, ControlFrames.TryReadWindow(payload, out var read));
            Assert.Equal(sample.increment, read);
        });

    [Theory]
    [InlineData(new byte[] { 0, 0, 0, 0 }, ProtocolError.InvalidWindowIncrement)]
    [InlineData(new byte[] { 0, 0, 0, 1 }, ProtocolError.None)]
    [InlineData(new byte[] { 0x7F, 0xFF, 0xFF, 0xFF }, ProtocolError.None)]
    [InlineData(new byte[] { 0x80, 0, 0, 0 }, ProtocolError.InvalidWindowIncrement)]
    [InlineData(new byte[] { 0xFF, 0xFF, 0xFF, 0xFF }, ProtocolError.InvalidWindowIncrement)]
    public void A_window_increment_lies_between_1_and_the_largest_credit(byte[] payload, ProtocolError expected) =>
        Assert.Equal(expected, ControlFrames.TryReadWindow(payload, out _));

    [Fact]
    public void Any_statement_about_the_service_survives_a_round_trip() => Property.Holds(
        Property.UInt32.SelectMany(counter => Gen.Choose(0, 255).Select(state => (counter, State: (ServiceState)state))),
        sample =>
        {
            var payload = Written(
                ControlFrames.ServiceSize,
                FrameType.Service,
                StreamId.Uplink,
                span => ControlFrames.WriteService(span, sample.State, sample.counter));
            Assert.Equal(sample.State, ControlFrames.ReadService(payload, out var counter));
            Assert.Equal(sample.counter, counter);
        });

    [Theory]
    [InlineData(false, FrameFlags.None)]
    [InlineData(true, FrameFlags.Ack)]
    public void Any_ping_survives_a_round_trip(bool ack, FrameFlags flags) => Property.Holds(Property.UInt64, opaque =>
    {
        var payload = Written(
            ControlFrames.PingSize, FrameType.Ping, StreamId.Uplink, span => ControlFrames.WritePing(span, opaque, ack), flags);
        Assert.Equal(opaque, ControlFrames.ReadPing(payload));
    });

    [Fact]
    public void Any_goaway_survives_a_round_trip() => Property.Holds(
        from phase in Gen.Elements(GoAwayPhase.Notice, GoAwayPhase.Final)
        from reason in Gen.Choose(0, 65_535)
        from text in Property.Text(300)
        select (phase, reason: (SessionEndReason)reason, text),
        sample =>
        {
            var payload = WrittenGoAway(sample.phase, sample.reason, sample.text);
            Assert.Equal(ProtocolError.None, ControlFrames.TryReadGoAway(payload, out var phase, out var reason, out var text));
            Assert.Equal(sample, (phase, reason, text));
        });

    [Theory]
    [InlineData("a")]
    [InlineData("é")]
    [InlineData("漢")]
    [InlineData("😀")]
    public void A_goaway_text_that_does_not_fit_is_cut_at_a_character(string character)
    {
        for (var lead = 0; lead < 4; lead++)
        {
            var text = new string('x', lead) + string.Concat(Enumerable.Repeat(character, 2_000));
            var payload = WrittenGoAway(GoAwayPhase.Final, SessionEndReason.Internal, text);
            Assert.Equal(ProtocolError.None, ControlFrames.TryReadGoAway(payload, out _, out _, out var read));
            Assert.StartsWith(read, text, StringComparison.Ordinal);
            Assert.InRange(payload.Length, ProtocolLimits.MaxGoAwayLength - 3, ProtocolLimits.MaxGoAwayLength);
        }
    }

    [Theory]
    [InlineData("\ud800")]
    [InlineData("a\udc00b")]
    public void A_goaway_text_that_is_not_a_text_does_no_harm(string text)
    {
        var payload = WrittenGoAway(GoAwayPhase.Final, SessionEndReason.Internal, text);
        Assert.Equal(ProtocolError.None, ControlFrames.TryReadGoAway(payload, out _, out _, out var read));
        Assert.Equal(text.Replace('\ud800', '\ufffd').Replace('\udc00', '\ufffd'), read);
    }

    [Fact]
    public void Any_goaway_payload_is_read_without_an_exception() => Property.Holds(Property.Bytes(0, 64), payload =>
    {
        var error = ControlFrames.TryReadGoAway(payload, out _, out _, out _);
        var expected = payload.Length < 3 ? ProtocolError.FrameTooShort
            : payload[0] is 1 or 2 ? ProtocolError.None : ProtocolError.InvalidGoAway;
        Assert.Equal(expected, error);
    });

    private static byte[] WrittenGoAway(GoAwayPhase phase, SessionEndReason reason, string text)
    {
        var buffer = new byte[FrameHeader.Size + ProtocolLimits.MaxGoAwayLength + 8];
        buffer.AsSpan(^8..).Fill(Canary);
        var length = ControlFrames.WriteGoAway(buffer, phase, reason, text);
        Assert.All(buffer[^8..], value => Assert.Equal(Canary, value));
        Assert.Equal(ProtocolError.None, FrameHeader.TryRead(buffer, out var header));
        Assert.Equal(new FrameHeader(length - FrameHeader.Size, FrameType.GoAway, FrameFlags.None, StreamId.Uplink), header);
        return buffer[FrameHeader.Size..length];
    }

    private static byte[] Written(int size, FrameType type, StreamId stream, Func<byte[], int> write, FrameFlags flags = FrameFlags.None)
    {
        var buffer = Enumerable.Repeat(Canary, size + 8).ToArray();
        Assert.Equal(size, write(buffer));
        Assert.All(buffer[size..], value => Assert.Equal(Canary, value));
        Assert.Equal(ProtocolError.None, FrameHeader.TryRead(buffer, out var header));
        Assert.Equal(new FrameHeader(size - FrameHeader.Size, type, flags, stream), header);
        return buffer[FrameHeader.Size..size];
    }
}
