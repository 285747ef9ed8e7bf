using FsCheck.Fluent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Tests.Specification;

namespace Tunnel2.Protocol.Tests.Frames;

public sealed class FrameStreamTests
{
    private static readonly byte[][] _frames =
        [.. ProtocolDocument.Examples.Where(example => example.Kind == "golden").Select(example => example.Bytes)];

    [Fact]
    public void A_stream_of_frames_split_at_any_byte_parses_the_same()
    {
        var stream = _frames.SelectMany(frame => frame).ToArray();
        for (var split = 0; split <= stream.Length; split++)
        {
            AssertParses(_frames, stream[..split], stream[split..]);
        }
    }

    [Fact]
    public void A_stream_of_frames_that_comes_byte_by_byte_parses_the_same()
    {
        var stream = _frames.SelectMany(frame => frame).ToArray();
        AssertParses(_frames, [.. stream.Select(value => new[] { value })]);
    }

    [Fact]
    public void A_stream_in_random_pieces_parses_the_same() => Property.Holds(
        from order in Gen.Shuffle(_frames)
        from sizes in Gen.Choose(0, 90).ArrayOf(200)
        select (order, sizes),
        sample =>
        {
            var rest = sample.order.SelectMany(frame => frame).ToArray();
            var pieces = new List<byte[]>();
            foreach (var size in sample.sizes)
            {
                var take = Math.Min(size, rest.Length);
                pieces.Add(rest[..take]);
                rest = rest[take..];
            }

            AssertParses(sample.order, [.. pieces, rest]);
        }, count: 100);

    [Fact]
    public void A_refused_header_is_reported_with_its_eighth_byte()
    {
        foreach (var example in ProtocolDocument.Examples.Where(example => example.Kind == "malformed"))
        {
            var expected = FrameHeader.TryRead(example.Bytes, out _);
            if (expected == ProtocolError.None)
            {
                continue;
            }

            var reader = new FrameStreamReader();
            reader.Append(example.Bytes.AsSpan(0, FrameHeader.Size - 1));
            Assert.Equal(ProtocolError.None, reader.Error);
            reader.Append(example.Bytes.AsSpan(FrameHeader.Size - 1, 1));
            Assert.Equal(expected, reader.Error);
        }
    }

    [Fact]
    public void Random_bytes_and_changed_frames_never_throw() => Property.Holds(
        from frames in Gen.Shuffle(_frames)
        from flips in Gen.Choose(0, 5).SelectMany(count => Property.UInt32.ArrayOf(count))
        from tail in Property.Bytes(0, 40)
        select (frames, flips, tail),
        sample =>
        {
            byte[] stream = [.. sample.frames.SelectMany(frame => frame), .. sample.tail];
            foreach (var flip in sample.flips)
            {
                stream[(flip >> 8) % stream.Length] ^= (byte)flip;
            }

            var reader = new FrameStreamReader();
            reader.Append(stream);
            var entry = new UplinkModel(isEntry: true, 4, 65_536, 131_072);
            var agent = new UplinkModel(isEntry: false, 4, 65_536, 131_072);
            foreach (var frame in reader.Frames)
            {
                entry.Receive(frame);
                agent.Receive(frame);
                new UplinkModel(isEntry: true, 1, 16_384, 16_384) { IsInHandshake = true }.Receive(frame);
                new UplinkModel(isEntry: false, 1, 16_384, 16_384) { IsInHandshake = true }.Receive(frame);
            }
        });

    private static void AssertParses(byte[][] expected, params byte[][] pieces)
    {
        var reader = new FrameStreamReader();
        foreach (var piece in pieces)
        {
            reader.Append(piece);
        }

        Assert.Equal(ProtocolError.None, reader.Error);
        Assert.Equal(0, reader.Pending);
        Assert.Equal(expected, reader.Frames);
    }
}
