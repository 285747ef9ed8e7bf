using System.Buffers.Binary;
using System.Text;
using Tunnel2.ProxyEntry.WebSockets;

namespace Tunnel2.ProxyEntry.Tests.WebSockets;

public sealed class ClientFrameReaderTests : IDisposable
{
    private const int Fin = 0x80;
    private const int Text = 1;
    private const int Close = 8;
    private const int Ping = 9;

    private readonly ClientFrameReader _reader = new();

    public void Dispose() => _reader.Dispose();

    [Theory]
    [InlineData(0)]
    [InlineData(5)]
    [InlineData(125)]
    [InlineData(126)]
    [InlineData(ClientFrameReader.MaxMessage)]
    public void A_message_is_read_whole_however_it_comes(int length)
    {
        var text = new string('x', length);
        var frame = Frame(Fin | Text, Encoding.ASCII.GetBytes(text));
        Receive(frame);
        Assert.Equal((ClientFrameKind.Text, text), Read());
        foreach (var value in frame[..^1])
        {
            Receive([value]);
            Assert.Equal(ClientFrameKind.Incomplete, Read().Kind);
        }

        Receive(frame[^1..]);
        Assert.Equal((ClientFrameKind.Text, text), Read());
    }

    [Fact]
    public void A_ping_may_stand_between_the_fragments_of_a_message()
    {
        Receive(Frame(Text, "ab"u8), Frame(Fin | Ping, "p"u8), Frame(Fin, "cd"u8));
        Assert.Equal((ClientFrameKind.Ping, "p"), Read());
        Assert.Equal((ClientFrameKind.Text, "abcd"), Read());
        Assert.Equal(ClientFrameKind.Incomplete, Read().Kind);
    }

    [Fact]
    public void What_is_too_long_is_refused_by_its_header_alone()
    {
        Receive(Frame(Fin | Text, new byte[ClientFrameReader.MaxMessage + 1])[..8]);
        Assert.Equal(ClientFrameKind.TooBig, Read().Kind);
    }

    [Theory]
    [InlineData("C1 80 00 00 00 00")] // a bit of an extension
    [InlineData("81 00")] // no mask
    [InlineData("09 80 00 00 00 00")] // a ping in fragments
    [InlineData("89 FE 00 7E 00 00 00 00")] // a long ping
    [InlineData("83 80 00 00 00 00")] // an opcode that there is not
    [InlineData("8B 80 00 00 00 00")]
    [InlineData("80 80 00 00 00 00")] // continues nothing
    [InlineData("81 FF 80 00 00 00 00 00 00 00 00 00 00 00")] // a negative length
    public void What_breaks_the_rules_is_broken(string bytes)
    {
        Receive(Convert.FromHexString(bytes.Replace(" ", "", StringComparison.Ordinal)));
        Assert.Equal(ClientFrameKind.Broken, Read().Kind);
    }

    [Fact]
    public void A_close_and_a_binary_message_are_distinguished()
    {
        Receive(Frame(Fin | Close, [3, 232]));
        Assert.Equal(ClientFrameKind.Close, Read().Kind);
        Receive(Frame(Fin | 2, "x"u8));
        Assert.Equal(ClientFrameKind.Binary, Read().Kind);
    }

    private static byte[] Frame(int first, ReadOnlySpan<byte> payload)
    {
        byte[] mask = [1, 2, 3, 4];
        byte[] length = payload.Length < 126 ? [(byte)(0x80 | payload.Length)] : [0x80 | 126, 0, 0];
        if (length.Length > 1)
        {
            BinaryPrimitives.WriteUInt16BigEndian(length.AsSpan(1), (ushort)payload.Length);
        }

        byte[] frame = [(byte)first, .. length, .. mask, .. payload];
        for (var i = 0; i < payload.Length; i++)
        {
            frame[frame.Length - payload.Length + i] ^= mask[i & 3];
        }

        return frame;
    }

    private void Receive(params IEnumerable<byte[]> frames)
    {
        foreach (var frame in frames)
        {
            frame.CopyTo(_reader.GetMemory());
            _reader.Advance(frame.Length);
        }
    }

    private (ClientFrameKind Kind, string Payload) Read() => (_reader.TryRead(out var payload), Encoding.ASCII.GetString(payload));
}
