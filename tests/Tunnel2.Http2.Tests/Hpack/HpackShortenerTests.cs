using System.Buffers;
using System.Text;
using Tunnel2.Http2.Hpack;

namespace Tunnel2.Http2.Tests.Hpack;

public sealed class HpackShortenerTests
{
    private const int Indexed = 0x80;
    private const int Added = 0x40;
    private const int Resized = 0x20;
    private const int NeverAdded = 0x10;

    private static readonly HpackShortenerLimits _limits = new(Bytes: 40_000, Fields: 100, StandIn: 5000, Mark: 60_000);

    /// <summary>'0' eight times, in 5 bits each.</summary>
    private static readonly byte[] _shortCodes = new byte[5];

    /// <summary>A line feed four times, in 30 bits each.</summary>
    private static readonly byte[] _longCodes =
        [.. Enumerable.Range(0, 15).Select(static i => (byte)(((((UInt128)0x3ffffffc << 90) | ((UInt128)0x3ffffffc << 60)
            | ((UInt128)0x3ffffffc << 30) | 0x3ffffffc) >> (8 * (14 - i))) & 0xff))];

    [Fact]
    public void What_is_within_the_limits_passes_as_it_is()
    {
        byte[] block =
        [
            0x3f, 0xe1, 0x1f, 0x82, .. Literal(0, 4, 0, "x-a", 100), .. Literal(Added, 6, 0, "x-b", 300), 0xbe,
            .. Literal(NeverAdded, 4, 31, "", 39_000),
        ];
        foreach (var piece in (int[])[1, 7, 16_384, block.Length])
        {
            Assert.Equal(block, Shorten(block.Chunk(piece)));
        }
    }

    [Fact]
    public void A_long_text_becomes_a_short_one_and_what_comes_after_it_passes()
    {
        byte[] block =
        [
            0x82, .. Literal(0, 4, 4, "", 1_000_000), .. Literal(0, 4, 0, new string('n', 50_000), 50_000), .. Literal(0, 4, 31, "", 9),
        ];
        Assert.Equal(
            ["3 :method", "5000 :path", "5000 " + new string('/', 5000), "9 content-type", "60000 x"],
            Read(new HpackDecoder(), Shorten([block])).Select(static field => $"{field.Value.Length} {field.Name}"));
    }

    [Fact]
    public void Fields_of_their_own_are_left_out_when_there_were_too_many_bytes_and_others_are_not()
    {
        byte[] block =
        [
            .. Enumerable.Range(0, 50).SelectMany(static i => Literal(0, 4, 0, "x-" + i, 1000)), 0x82, .. Literal(0, 4, 31, "", 9),
            .. Literal(Added, 6, 0, "x-added", 10), .. Literal(NeverAdded, 4, 0, "x-never", 20_000),
        ];
        var fields = Read(new HpackDecoder(), Shorten([block]));
        Assert.Equal(
            ["x-39", ":method", "content-type", "x-added", "x"], fields.Select(static field => field.Name).Skip(39));
        Assert.Equal(new string(' ', 60_000), fields[^1].Value);
    }

    [Fact]
    public void Fields_of_their_own_are_left_out_when_there_were_too_many_of_them()
    {
        byte[] block = [.. Enumerable.Range(0, 5000).SelectMany(static i => Literal(0, 4, 0, "x-" + i, 5))];
        Assert.Equal(101, Read(new HpackDecoder(), Shorten([block])).Count);
    }

    /// <summary>For all that a visitor sends: its compression continues, and a block that lacks something is found out.</summary>
    [Fact]
    public void The_table_is_the_same_afterwards()
    {
        var shortened = 0;
        for (var seed = 0; seed < 60; seed++)
        {
            var random = new Random(seed);
            var (whole, rest) = (new HpackDecoder(), new HpackDecoder());
            var shortener = new HpackShortener(_limits);
            var known = 0;
            for (var run = 0; run < 12; run++)
            {
                var block = Block(random, known);
                var left = Shorten(Split(random, block), shortener);
                var expected = Read(whole, block);
                var fields = Read(rest, left);
                if (!left.SequenceEqual(block))
                {
                    shortened++;
                    Assert.Equal(("x", new string(' ', _limits.Mark)), fields[^1]);
                }
                else
                {
                    Assert.Equal(expected, fields);
                }

                known = Known(whole);
                Assert.Equal(Table(whole, known), Table(rest, known));
                Assert.Equal(known, Known(rest));
            }
        }

        Assert.InRange(shortened, 100, 700);
    }

    [Fact]
    public void Of_fields_that_are_remembered_little_more_than_the_table_is_left()
    {
        byte[] block =
        [
            0x82, .. Enumerable.Range(0, 2000).SelectMany(static i => Literal(Added, 6, 0, "x-" + i, 1000)), 0xbe,
            .. Literal(Added, 6, 62, "", 10), .. Literal(NeverAdded, 4, 62, "", 10),
        ];
        var (whole, rest) = (new HpackDecoder(), new HpackDecoder());
        var left = Shorten(block.Chunk(16_384));
        Read(whole, block);
        var fields = Read(rest, left);
        Assert.InRange(left.Length, 100_000, 40_000 + 60_000 + 10_000);
        Assert.Equal(("x-1999", new string('v', 10)), fields[^2]);
        Assert.Equal(("x", new string(' ', 60_000)), fields[^1]);
        Assert.Equal(Table(whole, Known(whole)), Table(rest, Known(rest)));
    }

    [Fact]
    public void What_is_longer_than_the_table_empties_it_also_where_it_was_left_out()
    {
        byte[] block =
        [
            .. Literal(Added, 6, 0, "x-a", 50_000), .. Literal(Added, 6, 0, "x-b", 10), .. Literal(Added, 6, 0, "x-c", 50_000),
            .. Literal(Added, 6, 0, "x-d", 10),
        ];
        var rest = new HpackDecoder();
        Read(rest, Literal(Added, 6, 0, "x-before", 10));
        Read(rest, Shorten([block]));
        Assert.Equal(["x-d"], Table(rest, Known(rest)).Select(static field => field.Name));
    }

    /// <summary>Names that are given by their place in the table, among them those of fields that were left out.</summary>
    [Fact]
    public void The_table_is_the_same_afterwards_also_where_names_are_of_the_table()
    {
        for (var seed = 0; seed < 200; seed++)
        {
            var random = new Random(seed);
            var (whole, rest) = (new HpackDecoder(), new HpackDecoder());
            var shortener = new HpackShortener(_limits);
            var sizes = new List<(int Name, int Value)>();
            for (var run = 0; run < 4; run++)
            {
                var block = BlockOfTable(random, sizes);
                Read(whole, block);
                Read(rest, Shorten(Split(random, block), shortener));
                Assert.Equal(sizes.Count, Known(whole));
                Assert.Equal(Table(whole, sizes.Count), Table(rest, Known(rest)));
            }
        }
    }

    /// <summary>A block that is cut off stays so, wherever that is.</summary>
    [Fact]
    public void A_block_that_is_cut_off_is_broken_also_where_it_was_shortened()
    {
        byte[][] last = [Literal(0, 4, 0, "x-left-out", 300), Literal(0, 4, 31, "", 300), Literal(Added, 6, 0, "x-added", 300)];
        byte[] all = [.. last.SelectMany(static field => field)];
        int[] complete = [0, last[0].Length, last[0].Length + last[1].Length, all.Length];
        byte[][] begins =
        [
            [], Literal(0, 4, 0, "x-a", 200_000), [.. Literal(0, 4, 0, "x-a", 30_000), .. Literal(0, 4, 0, "x-b", 10_500)],
        ];
        foreach (var before in begins)
        {
            for (var length = 0; length <= all.Length; length++)
            {
                var left = Shorten([before, all[..length]]);
                Assert.Equal(complete.Contains(length) ? HpackStatus.End : HpackStatus.Broken, StatusOf(left));
            }
        }

        byte[] large = Literal(0, 4, 0, new string('n', 20_000), 200_000);
        for (var length = 1; length < large.Length; length += length is > 10 and < 19_990 or > 20_010 ? 997 : 1)
        {
            Assert.Equal(HpackStatus.Broken, StatusOf(Shorten([large[..length]])));
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(50_000)]
    public void A_number_without_an_end_is_broken_wherever_it_is(int before)
    {
        var endless = Enumerable.Repeat((byte)0xff, 10).ToArray();
        foreach (var start in (byte[][])[[], [0x00], [0x00, 1, 97], [0x40], [0x0f], [0x7f], [0x3f], [0x00, 0x7f]])
        {
            byte[] block = [.. Literal(0, 4, 0, "x-a", before), .. start, .. endless, .. Literal(0, 4, 0, "x-b", 10)];
            Assert.Equal(HpackStatus.Broken, StatusOf(Shorten([block])));
        }
    }

    private static byte[] Block(Random random, int known)
    {
        var block = new List<byte>();
        if (random.Next(4) == 0)
        {
            Number(block, Resized, 5, random.Next(2) == 0 ? random.Next(200) : 4096);
            known = 0;
        }

        var length = random.Next(3) == 0 ? 150 : 12;
        var most = random.Next(3) == 0 ? 300 : 60_000;
        for (var i = random.Next(length); i >= 0; i--)
        {
            if (random.Next(4) == 0)
            {
                Number(block, Indexed, 7, 1 + random.Next(HpackStaticTable.Count + (block.Count == 0 ? known : 0)));
                continue;
            }

            var (pattern, prefix) = random.Next(3) switch { 0 => (Added, 6), 1 => (NeverAdded, 4), _ => (0, 4) };
            var index = random.Next(3) == 0 ? 1 + random.Next(HpackStaticTable.Count) : 0;
            Number(block, pattern, prefix, index);
            if (index == 0)
            {
                Text(block, random, 40);
            }

            Text(block, random, random.Next(6) switch { 0 => most, 1 => 4500, 2 => 18_000, _ => 100 });
        }

        return [.. block];
    }

    /// <param name="random">What decides.</param>
    /// <param name="sizes">The fields of the table, the newest first; kept up to date.</param>
    private static byte[] BlockOfTable(Random random, List<(int Name, int Value)> sizes)
    {
        const int Table = 4096;
        const int Overhead = 32;
        var block = new List<byte>();
        var wanted = random.Next(4) == 0 ? 1000 : 30_000 + random.Next(60_000);
        var most = random.Next(3) switch { 0 => 100, 1 => 400, _ => 5000 };
        while (block.Count < wanted)
        {
            var place = random.Next(3) == 0 && sizes.Count > 0 ? random.Next(sizes.Count) : -1;
            var index = place >= 0 ? HpackStaticTable.Count + 1 + place : random.Next(4) == 0 ? 15 + random.Next(40) : 0;
            if (index > HpackStaticTable.Count && random.Next(4) == 0)
            {
                Number(block, Indexed, 7, index);
                continue;
            }

            var isAdded = random.Next(4) > 0;
            Number(block, isAdded ? Added : NeverAdded, isAdded ? 6 : 4, index);
            var name = 1 + random.Next(random.Next(20) == 0 ? 200 : 20);
            if (index == 0)
            {
                Plain(block, random, name);
            }
            else if (place < 0)
            {
                HpackStaticTable.Get(index, out var known, out _);
                name = known.Length;
            }
            else
            {
                name = sizes[place].Name;
            }

            var value = random.Next(most);
            Plain(block, random, value);
            if (!isAdded)
            {
                continue;
            }

            sizes.Insert(0, (name, value));
            while (sizes.Sum(static size => size.Name + size.Value + Overhead) > Table)
            {
                sizes.RemoveAt(sizes.Count - 1);
            }
        }

        return [.. block];
    }

    private static void Plain(List<byte> block, Random random, int length)
    {
        Number(block, 0, 7, length);
        block.AddRange(Enumerable.Repeat((byte)('a' + random.Next(26)), length));
    }

    private static void Text(List<byte> block, Random random, int most)
    {
        var length = random.Next(Math.Max(most, 20));
        switch (random.Next(4))
        {
            case 0:
                Coded(block, _shortCodes, length);
                break;
            case 1:
                Coded(block, _longCodes, length);
                break;
            default:
                Number(block, 0, 7, length);
                block.AddRange(Encoding.Latin1.GetBytes(new string((char)('a' + random.Next(26)), length)));
                break;
        }
    }

    private static void Coded(List<byte> block, byte[] codes, int length)
    {
        Number(block, 0x80, 7, length / codes.Length * codes.Length);
        for (var i = 0; i < length / codes.Length; i++)
        {
            block.AddRange(codes);
        }
    }

    private static byte[] Literal(int pattern, int prefix, int index, string name, int length)
    {
        var bytes = new List<byte>();
        Number(bytes, pattern, prefix, index);
        if (index == 0)
        {
            Number(bytes, 0, 7, name.Length);
            bytes.AddRange(Encoding.Latin1.GetBytes(name));
        }

        Number(bytes, 0, 7, length);
        bytes.AddRange(Enumerable.Repeat((byte)'v', length));
        return [.. bytes];
    }

    private static void Number(List<byte> bytes, int pattern, int prefix, int value)
    {
        Span<byte> number = stackalloc byte[HpackInteger.MaxLength];
        bytes.AddRange(number[..HpackInteger.Write(number, (byte)pattern, prefix, value)]);
    }

    private static IEnumerable<byte[]> Split(Random random, byte[] block)
    {
        for (int at = 0, next; at < block.Length; at = next)
        {
            next = Math.Min(block.Length, at + 1 + random.Next(random.Next(2) == 0 ? 5 : 20_000));
            yield return block[at..next];
        }
    }

    private static byte[] Shorten(IEnumerable<byte[]> pieces, HpackShortener? shortener = null)
    {
        shortener ??= new HpackShortener(_limits);
        var output = new ArrayBufferWriter<byte>();
        shortener.Begin();
        foreach (var piece in pieces)
        {
            shortener.Write(piece, output);
        }

        shortener.End(output);
        return output.WrittenSpan.ToArray();
    }

    private static List<(string Name, string Value)> Read(HpackDecoder decoder, ReadOnlySpan<byte> block)
    {
        var fields = new List<(string, string)>();
        Assert.Equal(HpackStatus.End, Read(decoder, block, fields));
        return fields;
    }

    private static HpackStatus StatusOf(ReadOnlySpan<byte> block) => Read(new HpackDecoder(), block, []);

    private static HpackStatus Read(HpackDecoder decoder, ReadOnlySpan<byte> block, List<(string Name, string Value)> fields)
    {
        decoder.Begin(block.Length);
        HpackStatus status;
        while ((status = decoder.TryRead(ref block, out var name, out var value)) == HpackStatus.Field)
        {
            fields.Add((Encoding.Latin1.GetString(name), Encoding.Latin1.GetString(value)));
        }

        return status;
    }

    /// <summary>How many fields the table has.</summary>
    private static int Known(HpackDecoder decoder)
    {
        var known = 0;
        while (Read(decoder, Index(known), []) == HpackStatus.End)
        {
            known++;
        }

        return known;
    }

    private static List<(string Name, string Value)> Table(HpackDecoder decoder, int known) =>
        [.. Enumerable.Range(0, known).SelectMany(i => Read(decoder, Index(i)))];

    private static byte[] Index(int i)
    {
        var block = new List<byte>();
        Number(block, Indexed, 7, HpackStaticTable.Count + 1 + i);
        return [.. block];
    }
}
