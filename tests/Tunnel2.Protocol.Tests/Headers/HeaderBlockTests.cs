using FsCheck.Fluent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Headers;

public sealed class HeaderBlockTests
{
    [Fact]
    public void Any_block_survives_a_round_trip_with_order_case_and_duplicates() => Property.Holds(BlockSample.Any, sample =>
    {
        var bytes = sample.ToBytes();
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
        Assert.Equal(sample.Kind, block.Kind);
        var (isRequest, isResponse) = (sample.Kind == HeaderBlockKind.Request, sample.Kind == HeaderBlockKind.Response);
        Assert.Equal(sample.Kind == HeaderBlockKind.Trailers ? HeaderBlockFlags.None : sample.Flags, block.Flags);
        Assert.Equal(isRequest ? sample.Method : [], block.Method.ToArray());
        Assert.Equal(isRequest ? sample.Scheme : [], block.Scheme.ToArray());
        Assert.Equal(isRequest ? sample.Authority : [], block.Authority.ToArray());
        Assert.Equal(isRequest ? sample.Target : [], block.Target.ToArray());
        Assert.Equal(isResponse ? sample.Status : 0, block.Status);
        Assert.Equal(isResponse ? sample.Reason : [], block.ReasonPhrase.ToArray());
        Assert.Equal(sample.Fields.Length, block.Fields.Count);
        Assert.Equal(sample.Fields, Fields(block));
        Assert.Equal(sample.Fields, Fields(block));
    });

    [Fact]
    public void A_block_cut_anywhere_is_malformed() => Property.Holds(BlockSample.Any, sample =>
    {
        var bytes = sample.ToBytes();
        for (var length = 0; length < bytes.Length; length++)
        {
            Assert.Equal(ProtocolError.MalformedHeaderBlock, HeaderBlock.TryRead(bytes.AsSpan(0, length), out _));
        }

        Assert.Equal(ProtocolError.MalformedHeaderBlock, HeaderBlock.TryRead([.. bytes, 0], out _));
    }, count: 60);

    [Fact]
    public void Random_and_changed_blocks_never_throw_and_show_only_their_own_bytes()
    {
        var changed =
            from sample in BlockSample.Any
            from flips in Property.UInt32.ArrayOf(3)
            select Flip(sample.ToBytes(), flips);
        Property.Holds(Gen.OneOf(changed, Property.Bytes(0, 60)), bytes =>
        {
            if (HeaderBlock.TryRead(bytes, out var block) != ProtocolError.None)
            {
                return;
            }

            AssertInside(bytes, block.Method);
            AssertInside(bytes, block.Scheme);
            AssertInside(bytes, block.Authority);
            AssertInside(bytes, block.Target);
            AssertInside(bytes, block.ReasonPhrase);
            var count = 0;
            foreach (var field in block.Fields)
            {
                AssertInside(bytes, field.Name);
                AssertInside(bytes, field.Value);
                count++;
            }

            Assert.Equal(block.Fields.Count, count);
            Assert.InRange(count, 0, ProtocolLimits.MaxHeaderFields);
        }, count: 2_000);
    }

    [Fact]
    public void Two_hundred_fields_are_accepted_and_one_more_refused()
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(Trailers(200), out var block));
        Assert.Equal(200, block.Fields.Count);
        Assert.Equal(ProtocolError.TooManyHeaderFields, HeaderBlock.TryRead(Trailers(201), out _));
        Assert.Equal(ProtocolError.TooManyHeaderFields, HeaderBlock.TryRead([3, 0, 0xFF, 0xFF], out _));
    }

    [Fact]
    public void A_block_at_the_length_limit_is_accepted_and_one_byte_more_refused()
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(BlockOf(ProtocolLimits.MaxHeaderBlockLength), out _));
        Assert.Equal(ProtocolError.HeaderBlockTooLong, HeaderBlock.TryRead(BlockOf(ProtocolLimits.MaxHeaderBlockLength + 1), out _));
    }

    [Fact]
    public void A_payload_splits_into_a_block_and_a_body_at_their_limits()
    {
        var payload = new byte[ProtocolLimits.MaxHeadersLength + 1];
        HeaderBlock.WritePrefix(payload, ProtocolLimits.MaxHeaderBlockLength);
        Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(payload.AsSpan(..^1), out var block, out var body));
        Assert.Equal(ProtocolLimits.MaxHeaderBlockLength, block.Length);
        Assert.Equal(ProtocolLimits.MaxDataLength, body.Length);
        Assert.Equal(ProtocolError.HeadersBodyTooLong, HeaderBlock.TrySplit(payload, out _, out _));

        HeaderBlock.WritePrefix(payload, ProtocolLimits.MaxHeaderBlockLength + 1);
        Assert.Equal(ProtocolError.HeaderBlockTooLong, HeaderBlock.TrySplit(payload, out _, out _));
    }

    [Fact]
    public void Any_payload_splits_without_an_exception() => Property.Holds(
        from prefix in Gen.Choose(0, 80).Select(length => new byte[] { 0, 0, (byte)length })
        from wild in Property.Bytes(3, 3)
        from useWild in Gen.Elements(true, false, false)
        from rest in Property.Bytes(0, 80)
        select (byte[])[.. useWild ? wild : prefix, .. rest],
        payload =>
        {
            var length = (payload[0] << 16) | (payload[1] << 8) | payload[2];
            var fits = length <= payload.Length - 3;
            Assert.Equal(
                fits ? ProtocolError.None : ProtocolError.HeaderBlockTooLong, HeaderBlock.TrySplit(payload, out var block, out var body));
            Assert.Equal(fits ? payload[3..(3 + length)] : [], block.ToArray());
            Assert.Equal(fits ? payload[(3 + length)..] : [], body.ToArray());
        });

    [Theory]
    [InlineData(99, ProtocolError.MalformedHeaderBlock)]
    [InlineData(100, ProtocolError.None)]
    [InlineData(999, ProtocolError.None)]
    [InlineData(1000, ProtocolError.MalformedHeaderBlock)]
    public void A_status_has_three_digits(int status, ProtocolError expected) =>
        Assert.Equal(expected, HeaderBlock.TryRead([2, 0, (byte)(status >> 8), (byte)status, 0, 0, 0], out _));

    [Theory]
    [InlineData(100, true)]
    [InlineData(101, false)]
    [InlineData(103, true)]
    [InlineData(199, true)]
    [InlineData(200, false)]
    public void Interim_responses_are_1xx_but_not_101(int status, bool interim)
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead([2, 0, (byte)(status >> 8), (byte)status, 0, 0, 0], out var block));
        Assert.Equal(interim, block.IsInterim);
    }

    private static List<(byte[] Name, byte[] Value)> Fields(HeaderBlock block)
    {
        var fields = new List<(byte[] Name, byte[] Value)>();
        foreach (var field in block.Fields)
        {
            fields.Add((field.Name.ToArray(), field.Value.ToArray()));
        }

        return fields;
    }

    private static byte[] Flip(byte[] bytes, uint[] flips)
    {
        foreach (var flip in flips)
        {
            bytes[(flip >> 8) % bytes.Length] ^= (byte)flip;
        }

        return bytes;
    }

    private static void AssertInside(byte[] source, ReadOnlySpan<byte> view) =>
        Assert.True(view.IsEmpty || source.AsSpan().Overlaps(view), "A view lies outside of the block.");

    private static byte[] Trailers(int count) =>
        [3, 0, (byte)(count >> 8), (byte)count, .. Enumerable.Repeat(new byte[] { 0, 1, (byte)'n', 0, 0 }, count).SelectMany(x => x)];

    /// <summary>A trailers block of exactly that many bytes, in two fields.</summary>
    private static byte[] BlockOf(int length)
    {
        var block = new byte[length];
        block[0] = 3;
        block[3] = 2;
        const int First = 30_000;
        block[6] = First >> 8;
        block[7] = First & 0xFF;
        var second = length - 4 - 8 - First;
        block[8 + First + 2] = (byte)(second >> 8);
        block[8 + First + 3] = (byte)second;
        return block;
    }
}
