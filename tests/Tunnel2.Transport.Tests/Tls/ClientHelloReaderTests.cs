using System.Text;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Transport.Tests.Tls;

public sealed class ClientHelloReaderTests
{
    private const ushort ServerName = 0;
    private const ushort EncryptedClientHello = 0xFE0D;
    private const ushort Grease = 0x1A1A;

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    [InlineData(17)]
    [InlineData(16_384)]
    public void A_name_is_found_for_every_size_of_records_and_at_no_earlier_byte_than_the_last(int recordLength)
    {
        var hello = Hello((Grease, []), (ServerName, Names("web.example.com")), (EncryptedClientHello, new byte[300]));
        var bytes = Records(hello, recordLength);
        for (var length = 0; length < bytes.Length; length++)
        {
            Assert.Equal(
                ClientHelloStatus.NeedMore, ClientHelloReader.Read(bytes.AsSpan(0, length), out _, out var needed));
            Assert.InRange(needed, length + 1, bytes.Length);
        }

        Assert.Equal("web.example.com", NameOf(bytes));
        Assert.Equal("web.example.com", NameOf([.. bytes, 22, 3, 3, 9, 9]));
    }

    [Fact]
    public void A_hello_without_extensions_or_without_a_name_names_no_server()
    {
        Assert.Equal(ClientHelloStatus.Unnamed, StatusOf(Records(Message([.. Start(), 1, 0]), 100)));
        Assert.Equal(ClientHelloStatus.Unnamed, StatusOf(Records(Hello(), 100)));
        Assert.Equal(ClientHelloStatus.Unnamed, StatusOf(Records(Hello((Grease, [1, 2, 3]), (EncryptedClientHello, [4])), 100)));
    }

    [Theory]
    [InlineData("474554202f")] // GET /
    [InlineData("15030300020250")] // an alert
    [InlineData("160200")] // SSL 2 or nonsense
    [InlineData("1603010000")] // an empty record
    [InlineData("1603014001")] // a record that is longer than a record may be
    [InlineData("16030100050200000101")] // a ServerHello
    public void Other_first_bytes_are_recognized(string hex) =>
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Convert.FromHexString(hex)));

    [Fact]
    public void What_a_name_may_not_be_is_invalid()
    {
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Hello((ServerName, [])), 100)));
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Hello((ServerName, [0, 0])), 100)));
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Hello((ServerName, Names(""))), 100)));
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Hello((ServerName, [.. Names("a"), 0])), 100)));
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Hello((ServerName, Names("a", "b"))), 100)));
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Hello((ServerName, Names("a")), (ServerName, Names("b"))), 100)));
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Message([.. Start(), 1, 0, 0, 9, 0, 0]), 100)));
        Assert.Equal(ClientHelloStatus.Invalid, StatusOf(Records(Message([3, 3]), 100)));
    }

    [Fact]
    public void A_hello_beyond_the_limit_is_refused_from_its_length_or_at_the_limit()
    {
        // The length alone.
        Assert.Equal(ClientHelloStatus.TooLong, StatusOf([22, 3, 1, 0x40, 0, 1, 1, 0, 0]));

        // The headers of records count: it is refused as soon as the rest cannot fit, however it is cut.
        var message = Hello((ServerName, Names("web.example.com")), (Grease, new byte[30_000]));
        Assert.Equal("web.example.com", NameOf(Records(message, 16_384)));
        var bytes = Records(message, 1);
        Assert.Equal(ClientHelloStatus.NeedMore, StatusOf(bytes[..40_000]));
        Assert.Equal(ClientHelloStatus.TooLong, StatusOf(bytes[..50_000]));
        Assert.Equal(ClientHelloStatus.TooLong, StatusOf(bytes[..(ClientHelloReader.MaxLength + 6)]));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    [InlineData(16_384)]
    public void Bytes_that_come_one_by_one_in_small_records_are_looked_at_some_dozens_of_times(int recordLength)
    {
        var bytes = Records(Hello((ServerName, Names("web.example.com")), (Grease, new byte[10_000])), recordLength);
        var looks = 0;
        var needed = 1;
        for (var length = 1; length <= bytes.Length; length++)
        {
            if (length >= needed)
            {
                looks++;
                var expected = length == bytes.Length ? ClientHelloStatus.Named : ClientHelloStatus.NeedMore;
                Assert.Equal(expected, ClientHelloReader.Read(bytes.AsSpan(0, length), out _, out needed));
            }
        }

        Assert.InRange(looks, 1, 100);
    }

    [Fact]
    public void Changed_cut_and_random_bytes_never_throw_and_never_ask_for_more_than_the_limit()
    {
        var random = new Random(20_261_123);
        var seeds = new[]
        {
            Records(Hello((Grease, []), (ServerName, Names("web.example.com")), (EncryptedClientHello, new byte[30])), 9),
            Records(Hello((ServerName, Names("web.example.com")), (Grease, new byte[200])), 16_384),
        };
        for (var round = 0; round < 20_000; round++)
        {
            byte[] bytes = [.. seeds[round % 2]];
            if (round % 3 == 0)
            {
                random.NextBytes(bytes.AsSpan(random.Next(bytes.Length)));
            }

            for (var i = 0; i < random.Next(1, 4); i++)
            {
                bytes[random.Next(bytes.Length)] = (byte)random.Next(256);
            }

            var status = ClientHelloReader.Read(bytes.AsSpan(0, random.Next(bytes.Length + 1)), out var name, out var needed);
            Assert.Equal(status == ClientHelloStatus.Named, !name.IsEmpty);
            Assert.InRange(needed, 0, ClientHelloReader.MaxLength + 5);
        }
    }

    [Theory]
    [InlineData(true, "acme-tls/1")]
    [InlineData(true, "h2", "acme-tls/1")]
    [InlineData(false, "h2", "http/1.1")]
    [InlineData(false, "acme-tls/10")]
    [InlineData(false, "acme-tls/")]
    public void The_protocols_that_a_client_offers_are_read(bool isOffered, params string[] protocols)
    {
        byte[] list = [.. protocols.SelectMany(static one => (byte[])[(byte)one.Length, .. Encoding.ASCII.GetBytes(one)])];
        var hello = Records(Hello((16, Long(list)), (0, Names("example.com"))), 5);
        Assert.Equal(ClientHelloStatus.Named, ClientHelloReader.Read(hello, out _, out var offered, out _));
        Assert.Equal(isOffered, ClientHelloReader.Offers(offered, "acme-tls/1"u8));

        // A list whose lengths are wrong offers nothing, and the name is read all the same.
        var broken = Records(Hello((16, [0, 200, .. list]), (0, Names("example.com"))), 5);
        Assert.Equal(ClientHelloStatus.Named, ClientHelloReader.Read(broken, out _, out offered, out _));
        Assert.False(ClientHelloReader.Offers(offered, "acme-tls/1"u8));
        Assert.False(ClientHelloReader.Offers([200, 1], "acme-tls/1"u8));
    }

    private static ClientHelloStatus StatusOf(byte[] bytes) => ClientHelloReader.Read(bytes, out _, out _);

    private static string NameOf(byte[] bytes)
    {
        Assert.Equal(ClientHelloStatus.Named, ClientHelloReader.Read(bytes, out var name, out _));
        return Encoding.ASCII.GetString(name);
    }

    /// <summary>A body up to its cipher suites: version, random, a session id, two suites.</summary>
    private static byte[] Start() => [3, 3, .. new byte[32], 4, 1, 2, 3, 4, 0, 4, 0x1A, 0x1A, 0xC0, 0x2B];

    private static byte[] Hello(params (ushort Type, byte[] Value)[] extensions) =>
        Message([.. Start(), 1, 0, .. Long([.. extensions.SelectMany(static one => Extension(one.Type, one.Value))])]);

    private static byte[] Extension(ushort type, byte[] value) => [(byte)(type >> 8), (byte)type, .. Long(value)];

    private static byte[] Names(params string[] names) =>
        Long([.. names.SelectMany(static name => (byte[])[0, .. Long(Encoding.ASCII.GetBytes(name))])]);

    private static byte[] Message(byte[] body) => [1, (byte)(body.Length >> 16), (byte)(body.Length >> 8), (byte)body.Length, .. body];

    private static byte[] Records(byte[] message, int length) =>
        [.. message.Chunk(length).SelectMany(static piece => (byte[])[22, 3, 1, .. Long(piece)])];

    private static byte[] Long(byte[] bytes) => [(byte)(bytes.Length >> 8), (byte)bytes.Length, .. bytes];
}
