using Tunnel2.Http1;
using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Tests.Heads;

public sealed class TrailerBlockTests
{
    [Fact]
    public void Order_case_and_duplicates_are_kept()
    {
        var fields = TrailerBlock.Read(Sample.Trailers(("X-b", "1"), ("a", ""), ("x-B", "2\u00ff")));
        Assert.Equal(["X-b=1", "a=", "x-B=2\u00ff"], fields.Select(Text));
    }

    [Fact]
    public void What_a_decoder_found_is_a_block()
    {
        var bytes = "3\r\nabc\r\n0\r\nX-Sum: 5\r\nConnection: no\r\n\r\n"u8;
        var decoder = new ChunkedDecoder(Http1Limits.Default);
        decoder.Reset();
        Assert.Equal(ChunkedStatus.Data, decoder.Decode(bytes, out var consumed, out _, out _));
        var rest = bytes[consumed..];
        Assert.Equal(ChunkedStatus.Done, decoder.Decode(rest, out _, out _, out _));
        Assert.Equal(["X-Sum=5", "Connection=no"], TrailerBlock.Read(TrailerBlock.Of(decoder.Trailers, rest)).Select(Text));
    }

    [Fact]
    public void What_is_no_block_of_trailers_has_no_fields()
    {
        Assert.Empty(TrailerBlock.Read([]));
        Assert.Empty(TrailerBlock.Read([1, 2, 3]));
        Assert.Empty(TrailerBlock.Read(Sample.Block("GET", "/", ("A", "1"))));
    }

    [Fact]
    public void What_the_wire_has_no_room_for_is_empty() =>
        Assert.Empty(TrailerBlock.Of([new HeadField("A"u8.ToArray(), new byte[70_000])]));

    private static string Text(HeadField field) => $"{HeadText.Of(field.Name)}={HeadText.Of(field.Value)}";
}
