using System.Text;
using Tunnel2.Http2.Hpack;

namespace Tunnel2.Http2.Tests.Hpack;

/// <summary>The examples of RFC 7541 appendix C, and blocks that break the rules.</summary>
public sealed class HpackDecoderTests
{
    /// <summary>Appendices C.3 and C.4: three requests, without and with the Huffman code.</summary>
    [Theory]
    [InlineData(
        "828684410f7777772e6578616d706c652e636f6d",
        "828684be58086e6f2d6361636865",
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565")]
    [InlineData(
        "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf", "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf")]
    public void Requests_of_the_specification(string first, string second, string third)
    {
        var decoder = new HpackDecoder();
        Assert.Equal(":method: GET|:scheme: http|:path: /|:authority: www.example.com", Decode(decoder, first));
        Assert.Equal(":method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache", Decode(decoder, second));
        Assert.Equal(
            ":method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value", Decode(decoder, third));
    }

    [Fact]
    public void Blocks_of_ordinary_size_with_fields_that_are_written_out_cost_no_memory()
    {
        var decoder = new HpackDecoder();
        var block = Convert.FromHexString("828684418cf1e3c2e5f23a6ba0ab90f4ff");
        var before = 0L;
        for (var i = 0; i < 1000; i++)
        {
            // What the first ones make is kept.
            before = i == 100 ? GC.GetAllocatedBytesForCurrentThread() : before;
            ReadOnlySpan<byte> rest = block;
            decoder.Begin(block.Length);
            while (decoder.TryRead(ref rest, out _, out _) == HpackStatus.Field)
            {
            }
        }

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    /// <summary>Appendices C.5 and C.6: three responses with a table of 256 bytes, which drops entries.</summary>
    [Theory]
    [InlineData(
        "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d70"
            + "6c652e636f6d",
        "4803333037c1c0bf",
        "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f5049"
            + "5541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31")]
    [InlineData(
        "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
        "4883640effc1c0bf",
        "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f"
            + "9587316065c003ed4ee5b1063d5007")]
    public void Responses_of_the_specification(string first, string second, string third)
    {
        const string Location = "location: https://www.example.com";
        var decoder = new HpackDecoder(256);
        Assert.Equal($":status: 302|cache-control: private|date: Mon, 21 Oct 2013 20:13:21 GMT|{Location}", Decode(decoder, first));
        Assert.Equal($":status: 307|cache-control: private|date: Mon, 21 Oct 2013 20:13:21 GMT|{Location}", Decode(decoder, second));
        Assert.Equal(
            $":status: 200|cache-control: private|date: Mon, 21 Oct 2013 20:13:22 GMT|{Location}|content-encoding: gzip|"
                + "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            Decode(decoder, third));
    }

    [Theory]
    [InlineData("80", "the index 0")]
    [InlineData("be", "an index beyond the tables")]
    [InlineData("7e0161", "a name with an index beyond the tables")]
    [InlineData("ff", "a number that is cut off")]
    [InlineData("ffffffffff7f", "a number of more than 28 bits")]
    [InlineData("40", "no name")]
    [InlineData("400161", "no value")]
    [InlineData("4001610562", "a value that is cut off")]
    [InlineData("488264", "a coded value that is cut off")]
    [InlineData("4884ffffffff", "the code of the end")]
    [InlineData("4881 00", "a padding of zeros")]
    [InlineData("4882 64ff ff", "what follows has to be a field")]
    [InlineData("8220", "a change of the table's size after a field")]
    [InlineData("3fe21f", "a table that is larger than allowed")]
    public void A_broken_block_is_refused(string block, string why) => Assert.True(Decode(new HpackDecoder(), block) is null, why);

    [Fact]
    public void A_padding_of_more_than_seven_bits_is_refused() =>
        Assert.Null(Decode(new HpackDecoder(), "488364 02ff"));

    [Fact]
    public void The_table_may_shrink_and_grow_at_the_beginning_of_a_block()
    {
        var decoder = new HpackDecoder();
        Assert.Equal("a: b", Decode(decoder, "4001610162"));
        Assert.Equal("a: b", Decode(decoder, "be"));
        Assert.Equal("c: d", Decode(decoder, "203fe11f 4001630164"));
        Assert.Equal("c: d", Decode(decoder, "be"));
        Assert.Null(Decode(decoder, "bf"));
    }

    [Fact]
    public void A_name_of_an_entry_that_its_own_field_pushes_out_is_kept()
    {
        // A table for one entry: name "a" of index 62 with a new value drops that entry.
        var decoder = new HpackDecoder(40);
        Assert.Equal("a: b", Decode(decoder, "4001610162"));
        Assert.Equal("a: cc", Decode(decoder, "7e026363"));
        Assert.Equal("a: cc", Decode(decoder, "be"));
    }

    [Fact]
    public void A_field_that_is_larger_than_the_table_empties_it()
    {
        var decoder = new HpackDecoder(64);
        Assert.Equal("a: b", Decode(decoder, "4001610162"));
        var value = new string('x', 100);
        Assert.Equal($"c: {value}", Decode(decoder, "40016364" + Convert.ToHexString(Encoding.ASCII.GetBytes(value))));
        Assert.Null(Decode(decoder, "be"));
    }

    [Fact]
    public void Entries_survive_that_their_bytes_are_moved_together()
    {
        // Names of changing lengths, many times around the array.
        var decoder = new HpackDecoder(300);
        for (var i = 0; i < 500; i++)
        {
            var name = new string((char)('a' + (i % 26)), 1 + (i % 40));
            var field = "40" + $"{name.Length:x2}" + Convert.ToHexString(Encoding.ASCII.GetBytes(name)) + "0176";
            Assert.Equal($"{name}: v", Decode(decoder, field));
            Assert.Equal($"{name}: v", Decode(decoder, "be"));
        }
    }

    [Fact]
    public void Two_bytes_cannot_copy_the_whole_table_again_and_again()
    {
        var decoder = new HpackDecoder();
        const int Length = 4000;
        Assert.NotNull(Decode(decoder, "407fa11e" + Convert.ToHexString(Encoding.ASCII.GetBytes(new string('a', Length))) + "00"));

        // An entry with the same name and no value: once or twice is no fault.
        Assert.NotNull(Decode(decoder, "7e00"));
        Assert.Null(Decode(decoder, string.Concat(Enumerable.Repeat("7e00", 1000))));
    }

    private static string? Decode(HpackDecoder decoder, string hex)
    {
        ReadOnlySpan<byte> block = Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
        var fields = new List<string>();
        decoder.Begin(block.Length);
        while (true)
        {
            switch (decoder.TryRead(ref block, out var name, out var value))
            {
                case HpackStatus.Field:
                    fields.Add($"{Encoding.Latin1.GetString(name)}: {Encoding.Latin1.GetString(value)}");
                    break;
                case HpackStatus.End:
                    return string.Join('|', fields);
                default:
                    return null;
            }
        }
    }
}
