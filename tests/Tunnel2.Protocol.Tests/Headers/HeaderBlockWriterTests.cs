using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Headers;

public sealed class HeaderBlockWriterTests
{
    private const byte Canary = 0xEE;

    [Fact]
    public void Every_buffer_that_is_too_small_reports_overflow_and_is_never_left() => Property.Holds(BlockSample.Any, sample =>
    {
        var expected = sample.ToBytes();
        for (var size = 0; size <= expected.Length; size++)
        {
            var buffer = Enumerable.Repeat(Canary, size + 4).ToArray();
            var writer = new HeaderBlockWriter(buffer.AsSpan(0, size));
            sample.Write(ref writer);
            var length = writer.Complete();
            Assert.Equal(size < expected.Length, writer.Overflowed);
            Assert.All(buffer[size..], value => Assert.Equal(Canary, value));
            if (!writer.Overflowed)
            {
                Assert.Equal(expected, buffer[..length]);
            }
        }
    }, count: 30);

    [Fact]
    public void A_block_never_grows_beyond_its_limit_however_large_the_buffer_is()
    {
        var buffer = new byte[200_000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        writer.AddField(new byte[30_000], new byte[65_536 - 4 - 4 - 30_000]);
        Assert.False(writer.Overflowed);
        Assert.Equal(ProtocolLimits.MaxHeaderBlockLength, writer.Complete());

        writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        writer.AddField(new byte[30_000], new byte[65_536 - 4 - 4 - 30_000 + 1]);
        writer.Complete();
        Assert.True(writer.Overflowed);
    }

    [Fact]
    public void More_than_200_fields_are_reported()
    {
        Span<byte> buffer = stackalloc byte[4096];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        for (var i = 0; i < 200; i++)
        {
            writer.AddField("n"u8, "v"u8);
        }

        Assert.False(writer.HasTooManyFields);
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(buffer[..writer.Complete()], out _));
        writer.AddField("n"u8, "v"u8);
        Assert.True(writer.HasTooManyFields);
        Assert.Equal(ProtocolError.TooManyHeaderFields, HeaderBlock.TryRead(buffer[..writer.Complete()], out _));
    }

    [Fact]
    public void Strings_and_their_bytes_write_the_same_block() => Property.Holds(Latin1(255), text =>
    {
        var bytes = text.Select(character => (byte)character).ToArray();
        var (fromText, fromBytes) = (new byte[4096], new byte[4096]);
        var textWriter = new HeaderBlockWriter(fromText);
        textWriter.BeginRequest(HeaderBlockFlags.None, text, text, text, text);
        textWriter.AddField(text, text);
        var bytesWriter = new HeaderBlockWriter(fromBytes);
        bytesWriter.BeginRequest(HeaderBlockFlags.None, bytes, bytes, bytes, bytes);
        bytesWriter.AddField(bytes, bytes);
        Assert.Equal(bytesWriter.Complete(), textWriter.Complete());
        Assert.Equal(fromBytes, fromText);
    });

    [Fact]
    public void Strings_that_are_not_latin_1_still_make_a_block_that_can_be_read() => Property.Holds(
        Gen.Choose(0, 60).SelectMany(length => Gen.Frequency((2, Gen.Choose(0xD7F0, 0xE010)), (1, Gen.Choose(0, 0xFFFF))).ArrayOf(length)),
        characters =>
        {
            var text = new string([.. characters.Select(character => (char)character)]);
            var buffer = new byte[1024];
            var writer = new HeaderBlockWriter(buffer);
            writer.BeginRequest(HeaderBlockFlags.None, "M" + text, text, text, text);
            writer.AddField(text, text);
            var length = writer.Complete();
            Assert.False(writer.Overflowed);
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(buffer.AsSpan(0, length), out var block));
            Assert.Equal(text.Length, block.Target.Length);
            Assert.Equal(1, block.Fields.Count);
        });

    [Fact]
    public void Short_parts_hold_255_bytes_and_not_256()
    {
        Assert.False(Request(new byte[255], new byte[255]).Overflowed);
        Assert.True(Request(new byte[256], []).Overflowed);
        Assert.True(Request([1], new byte[256]).Overflowed);
        Assert.False(Request(new string('m', 255)).Overflowed);
        Assert.True(Request(new string('m', 256)).Overflowed);
    }

    [Fact]
    public void Long_parts_above_65535_bytes_do_not_fit()
    {
        var buffer = new byte[200_000];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        writer.AddField([], new byte[65_536]);
        Assert.True(writer.Overflowed);
        writer = new HeaderBlockWriter(buffer);
        writer.BeginTrailers();
        writer.AddField("", new string('v', 65_536));
        Assert.True(writer.Overflowed);
    }

    [Fact]
    public void A_reason_phrase_is_cut_to_255_bytes()
    {
        var buffer = new byte[1024];
        var writer = new HeaderBlockWriter(buffer);
        writer.BeginResponse(HeaderBlockFlags.None, 200, Enumerable.Repeat((byte)'r', 300).ToArray());
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(buffer.AsSpan(0, writer.Complete()), out var block));
        Assert.Equal(255, block.ReasonPhrase.Length);
    }

    private static Gen<string> Latin1(int max) =>
        from length in Gen.Choose(1, max)
        from characters in Gen.Choose(0, 255).ArrayOf(length)
        select new string([.. characters.Select(character => (char)character)]);

    private static HeaderBlockWriter Request(byte[] method, byte[] scheme)
    {
        var writer = new HeaderBlockWriter(new byte[1024]);
        writer.BeginRequest(HeaderBlockFlags.None, method, scheme, [], []);
        return writer;
    }

    private static HeaderBlockWriter Request(string method)
    {
        var writer = new HeaderBlockWriter(new byte[1024]);
        writer.BeginRequest(HeaderBlockFlags.None, method, "", "", "");
        return writer;
    }
}
