using System.Text;
using Tunnel2.Http2.Hpack;

namespace Tunnel2.Http2.Tests.Hpack;

public sealed class HpackWriterTests
{
    [Fact]
    public void What_is_written_is_read_again()
    {
        var random = new Random(7541);
        var decoder = new HpackDecoder();
        for (var run = 0; run < 200; run++)
        {
            var fields = Enumerable.Range(0, random.Next(20)).Select(_ => (Name: Name(random), Value: Value(random))).ToList();
            var buffer = new byte[64 * 1024];
            var writer = new HpackWriter(buffer);
            writer.WriteNoTable();
            foreach (var (name, value) in fields)
            {
                writer.WriteField(Encoding.Latin1.GetBytes(name), Encoding.Latin1.GetBytes(value), isSecret: random.Next(2) == 0);
            }

            Assert.False(writer.Overflowed);
            var expected = fields.Select(static field => (field.Name.ToLowerInvariant(), field.Value));
            Assert.Equal(expected, Read(decoder, buffer.AsSpan(0, writer.Written)));
        }
    }

    [Fact]
    public void Names_of_the_static_table_take_one_byte_and_secrets_are_never_added()
    {
        Span<byte> buffer = stackalloc byte[64];
        var writer = new HpackWriter(buffer);
        writer.WriteIndexed(HpackStaticTable.MethodPost);
        writer.WriteField("Content-Type"u8, "a"u8);
        writer.WriteField("AUTHORIZATION"u8, "b"u8, isSecret: true);
        Assert.Equal("83" + "0f100161" + "1f080162", Convert.ToHexStringLower(buffer[..writer.Written]));
    }

    [Fact]
    public void A_buffer_that_is_too_small_is_found_out()
    {
        for (var size = 0; size < 12; size++)
        {
            var writer = new HpackWriter(new byte[size]);
            writer.WriteField("x-name"u8, "val"u8);
            Assert.True(writer.Overflowed);
        }

        var enough = new HpackWriter(new byte[12]);
        enough.WriteField("x-name"u8, "val"u8);
        Assert.False(enough.Overflowed);
    }

    private static List<(string Name, string Value)> Read(HpackDecoder decoder, ReadOnlySpan<byte> block)
    {
        var fields = new List<(string, string)>();
        decoder.Begin(block.Length);
        HpackStatus status;
        while ((status = decoder.TryRead(ref block, out var name, out var value)) == HpackStatus.Field)
        {
            fields.Add((Encoding.Latin1.GetString(name), Encoding.Latin1.GetString(value)));
        }

        Assert.Equal(HpackStatus.End, status);
        return fields;
    }

    private static string Name(Random random) => random.Next(3) switch
    {
        0 => "Accept-Encoding",
        1 => "x-" + new string('N', random.Next(1, 300)),
        _ => "cookie",
    };

    private static string Value(Random random) =>
        new([.. Enumerable.Range(0, random.Next(600)).Select(_ => (char)random.Next(0x20, 0xff))]);
}
