using System.Buffers.Binary;
using System.Net;
using System.Text;
using Tunnel2.Transport.ProxyHeaders;

namespace Tunnel2.Transport.Tests.ProxyHeaders;

public sealed class ProxyHeaderTests
{
    private const string Signature = "0D0A0D0A000D0A515549540A";

    [Theory]
    [InlineData(1, "203.0.113.7:4711", "198.51.100.1:443", "PROXY TCP4 203.0.113.7 198.51.100.1 4711 443\r\n")]
    [InlineData(1, "[2001:db8::7]:4711", "[::1]:443", "PROXY TCP6 2001:db8::7 ::1 4711 443\r\n")]
    [InlineData(1, "[::ffff:203.0.113.7]:1", "198.51.100.1:2", "PROXY TCP4 203.0.113.7 198.51.100.1 1 2\r\n")]
    [InlineData(1, "203.0.113.7:4711", "[::1]:443", "PROXY TCP6 ::ffff:203.0.113.7 ::1 4711 443\r\n")]
    [InlineData(1, "[2001:db8::7]:4711", "198.51.100.1:443", "PROXY TCP6 2001:db8::7 ::ffff:198.51.100.1 4711 443\r\n")]
    [InlineData(1, "[fe80::7%1]:4711", "[fe80::1%1]:443", "PROXY TCP6 fe80::7 fe80::1 4711 443\r\n")]
    [InlineData(2, "203.0.113.7:4711", "198.51.100.1:443", Signature + "2111000CCB007107C6336401126701BB")]
    [InlineData(2, "[2001:db8::7]:4711", "[::1]:443",
        Signature + "2121002420010DB8000000000000000000000007" + "00000000000000000000000000000001" + "126701BB")]
    [InlineData(2, "203.0.113.7:4711", "[::1]:443",
        Signature + "2121002400000000000000000000FFFFCB007107" + "00000000000000000000000000000001" + "126701BB")]
    public void A_header_is_written_as_the_specification_says_and_read_again(
        int version, string source, string destination, string expected)
    {
        var buffer = new byte[ProxyHeader.MaxWritten];
        var length = ProxyHeader.Write((ProxyHeaderVersion)version, IPEndPoint.Parse(source), IPEndPoint.Parse(destination), buffer);
        var bytes = buffer[..length];
        Assert.Equal(expected, version == 1 ? Encoding.ASCII.GetString(bytes) : Convert.ToHexString(bytes));
        for (var cut = 0; cut < length; cut++)
        {
            Assert.Equal(ProxyHeaderStatus.NeedMore, ProxyHeader.Read(bytes.AsSpan(0, cut), out _, out _, out _));
        }

        Assert.Equal(
            ProxyHeaderStatus.Done, ProxyHeader.Read([.. bytes, .. "GET /"u8], out var read, out var from, out var to));
        Assert.Equal(length, read);
        if (!source.Contains('%', StringComparison.Ordinal))
        {
            Assert.Equal((Plain(source), Plain(destination)), (Plain(from!.ToString()), Plain(to!.ToString())));
        }

        static string Plain(string endPoint) => endPoint.Replace("[::ffff:203.0.113.7]", "203.0.113.7", StringComparison.Ordinal)
            .Replace("[::ffff:198.51.100.1]", "198.51.100.1", StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(1, "PROXY UNKNOWN\r\n")]
    [InlineData(2, Signature + "21000000")]
    public void A_header_for_a_client_that_is_not_known_says_so_and_is_read_again(int version, string expected)
    {
        var buffer = new byte[ProxyHeader.MaxWritten];
        var length = ProxyHeader.Write((ProxyHeaderVersion)version, null, IPEndPoint.Parse("198.51.100.1:443"), buffer);
        var bytes = buffer[..length];
        Assert.Equal(expected, version == 1 ? Encoding.ASCII.GetString(bytes) : Convert.ToHexString(bytes));
        Assert.Equal(ProxyHeaderStatus.Done, ProxyHeader.Read(bytes, out var read, out var from, out var to));
        Assert.Equal((length, null, null), (read, from, to));
    }

    [Theory]
    [InlineData("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n")]
    public void A_balancer_that_does_not_know_its_client_gives_no_address(string text)
    {
        Assert.Equal(ProxyHeaderStatus.Done, Read(text, out var length, out var source));
        Assert.Equal((text.Length, null), (length, source));
    }

    [Theory]
    [InlineData(Signature + "20000000")] // a check by the balancer itself
    [InlineData(Signature + "2011000CCB007107C6336401126701BB")]
    [InlineData(Signature + "213100020000")] // a Unix socket
    [InlineData(Signature + "21120000")] // UDP
    [InlineData(Signature + "20FF0000")] // a check, of which the family is ignored
    public void A_binary_header_of_no_client_or_of_another_network_gives_no_address(string hex)
    {
        var bytes = Convert.FromHexString(hex);
        Assert.Equal(ProxyHeaderStatus.Done, ProxyHeader.Read(bytes, out var length, out var source, out _));
        Assert.Equal((bytes.Length, null), (length, source));
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n")]
    [InlineData("\u0016\u0003\u0001")]
    [InlineData("PROXY\r\n")]
    [InlineData("PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n")]
    [InlineData("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n")]
    [InlineData("PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n")]
    [InlineData("PROXY TCP4 0x1.2.3.4 1.2.3.4 1 2\r\n")]
    [InlineData("PROXY TCP4 ::1 ::1 1 2\r\n")]
    [InlineData("PROXY TCP6 fe80::1%1 ::1 1 2\r\n")]
    [InlineData("PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n")]
    [InlineData("PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n")]
    [InlineData("PROXY TCP4 010.0.0.1 1.2.3.4 1 2\r\n")] // 8.0.0.1 for some readers, 10.0.0.1 for others
    [InlineData("PROXY TCP4 1.2.3.4 1.2.3.04 1 2\r\n")]
    [InlineData("PROXY TCP6 ::ffff:010.0.0.1 ::1 1 2\r\n")]
    [InlineData("PROXY TCP6 ::1 64:ff9b::1.2.3.04 1 2\r\n")]
    [InlineData("PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n")]
    [InlineData("PROXY TCP4 1.2.3.4 1.2.3.4 1 00\r\n")]
    [InlineData("PROXY UNKNOWNX\r\n")]
    [InlineData("proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n")]
    public void Other_bytes_are_no_header(string text) => Assert.Equal(ProxyHeaderStatus.Invalid, Read(text, out _, out _));

    [Theory]
    [InlineData(Signature + "11110000")] // version 1 in binary
    [InlineData(Signature + "22")] // an unknown command
    [InlineData(Signature + "2111000BCB007107C633640112670101")] // too short for its addresses
    [InlineData(Signature + "2111FFFF")] // too long
    [InlineData(Signature + "21410000")] // a family that no specification has
    [InlineData(Signature + "21130000")] // a transport that none has
    [InlineData(Signature + "21F10000")]
    public void A_binary_header_that_breaks_the_rules_is_none(string hex) =>
        Assert.Equal(ProxyHeaderStatus.Invalid, ProxyHeader.Read(Convert.FromHexString(hex), out _, out _, out _));

    [Theory]
    [InlineData(4096, ProxyHeaderStatus.Done)]
    [InlineData(4097, ProxyHeaderStatus.Invalid)]
    public void Values_after_the_addresses_may_make_a_header_of_4096_bytes(int length, object status)
    {
        var bytes = new byte[length];
        Convert.FromHexString(Signature + "2111000CCB007107C6336401126701BB").CopyTo(bytes, 0);
        BinaryPrimitives.WriteUInt16BigEndian(bytes.AsSpan(14), (ushort)(length - 16));
        Assert.Equal((ProxyHeaderStatus)status, ProxyHeader.Read(bytes, out _, out _, out _));
    }

    [Fact]
    public void A_line_without_an_end_is_refused_at_its_limit()
    {
        var line = "PROXY UNKNOWN " + new string('x', 200);
        Assert.Equal(ProxyHeaderStatus.NeedMore, Read(line[..106], out _, out _));
        Assert.Equal(ProxyHeaderStatus.Invalid, Read(line[..107], out _, out _));
    }

    [Fact]
    public void Changed_and_random_bytes_never_throw()
    {
        var random = new Random(20_261_123);
        var buffer = new byte[ProxyHeader.MaxWritten];
        for (var round = 0; round < 20_000; round++)
        {
            var length = ProxyHeader.Write(
                (ProxyHeaderVersion)(1 + (round % 2)), IPEndPoint.Parse("203.0.113.7:4711"), IPEndPoint.Parse("198.51.100.1:443"), buffer);
            buffer[random.Next(length)] = (byte)random.Next(256);
            buffer[random.Next(length)] = (byte)random.Next(256);
            var cut = random.Next(length + 1);
            if (ProxyHeader.Read(buffer.AsSpan(0, cut), out var read, out _, out _) == ProxyHeaderStatus.Done)
            {
                Assert.InRange(read, 1, cut);
            }
        }
    }

    private static ProxyHeaderStatus Read(string text, out int length, out IPEndPoint? source) =>
        ProxyHeader.Read(Encoding.Latin1.GetBytes(text), out length, out source, out _);
}
