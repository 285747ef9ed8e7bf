using System.Buffers.Binary;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.Transport.Tests.WebSockets;

/// <summary>The payload that comes out of frames, however they are cut, and what is refused.</summary>
public sealed class WebSocketDecoderTests
{
    private static readonly byte[] _mask = [0x37, 0xfa, 0x21, 0x3d];

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void The_same_bytes_come_out_however_frames_and_receives_are_cut(bool masked)
    {
        for (var run = 0; run < 300; run++)
        {
            SeededRandom.Run(random =>
            {
                var payload = random.NextBytes(random.Next(1, 70_000));
                var (wire, pings) = Encode(random, payload, masked);
                var decoder = new WebSocketDecoder(masked);
                var decoded = new List<byte>();
                byte[]? lastPing = null;
                for (var read = 0; read < wire.Length;)
                {
                    var piece = wire.AsSpan(read, Math.Min(wire.Length - read, random.Next(1, random.Next(1, 20_000) + 1))).ToArray();
                    read += piece.Length;
                    decoded.AddRange(piece.AsSpan(0, decoder.Decode(piece)));
                    lastPing = decoder.TakePing() ?? lastPing;
                }

                Assert.Equal(WebSocketFault.None, decoder.Fault);
                Assert.Equal(payload, decoded);
                Assert.Equal(pings.LastOrDefault(), lastPing);
            });
        }
    }

    [Fact]
    public void A_mask_continues_over_pieces_of_any_length()
    {
        var plain = new SeededRandom(7).NextBytes(1000);
        var expected = plain.Select((value, i) => (byte)(value ^ _mask[i & 3])).ToArray();
        for (var length = 1; length < 70; length++)
        {
            var masked = plain.ToArray();
            for (var start = 0; start < masked.Length; start += length)
            {
                WebSocketMask.Apply(masked.AsSpan(start, Math.Min(length, masked.Length - start)), _mask, start);
            }

            Assert.Equal(expected, masked);
        }
    }

    [Theory]
    [InlineData("c2 01 61", WebSocketFault.Extension)]
    [InlineData("92 01 61", WebSocketFault.Extension)]
    [InlineData("82 81 00 00 00 00 61", WebSocketFault.Mask)]
    [InlineData("81 01 61", WebSocketFault.Text)]
    [InlineData("83 01 61", WebSocketFault.Opcode)]
    [InlineData("8b 00", WebSocketFault.Opcode)]
    [InlineData("80 01 61", WebSocketFault.Fragment)]
    [InlineData("02 01 61 82 01 61", WebSocketFault.Fragment)]
    [InlineData("09 00", WebSocketFault.Control)]
    [InlineData("89 7e 00 7e", WebSocketFault.Control)]
    [InlineData("88 01 03", WebSocketFault.Close)]
    [InlineData("88 02 00 00", WebSocketFault.Close)]
    [InlineData("88 02 03 e7", WebSocketFault.Close)]
    [InlineData("88 02 03 ec", WebSocketFault.Close)]
    [InlineData("88 02 03 ed", WebSocketFault.Close)]
    [InlineData("88 02 03 ee", WebSocketFault.Close)]
    [InlineData("88 02 03 f7", WebSocketFault.Close)]
    [InlineData("88 02 0b b7", WebSocketFault.Close)]
    [InlineData("88 02 13 88", WebSocketFault.Close)]
    [InlineData("88 04 03 e8 c3 28", WebSocketFault.Reason)]
    [InlineData("88 03 03 e8 ff", WebSocketFault.Reason)]
    [InlineData("82 7e 00 7d", WebSocketFault.Length)]
    [InlineData("82 7e 00 00", WebSocketFault.Length)]
    [InlineData("82 7f 00 00 00 00 00 00 ff ff", WebSocketFault.Length)]
    [InlineData("82 7f 00 00 00 00 00 00 00 01", WebSocketFault.Length)]
    [InlineData("82 ff 80 00 00 00 00 00 00 01", WebSocketFault.Mask)]
    [InlineData("82 7f 80 00 00 00 00 00 00 01", WebSocketFault.Length)]
    [InlineData("48 54 54 50", WebSocketFault.Extension)]
    internal void What_breaks_the_frames_is_named_and_nothing_is_read_after_it(string hex, WebSocketFault fault)
    {
        var bytes = Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
        var decoder = new WebSocketDecoder(expectsMask: false);
        decoder.Decode(bytes.ToArray());
        Assert.Equal(fault, decoder.Fault);
        Assert.Equal(0, decoder.Decode([0x82, 0x01, 0x61]));

        var oneByOne = new WebSocketDecoder(expectsMask: false);
        foreach (var value in bytes)
        {
            oneByOne.Decode([value]);
        }

        Assert.Equal(fault, oneByOne.Fault);
    }

    [Fact]
    public void A_client_must_mask()
    {
        var decoder = new WebSocketDecoder(expectsMask: true);
        decoder.Decode([0x82, 0x01, 0x61]);
        Assert.Equal(WebSocketFault.Mask, decoder.Fault);
    }

    [Theory]
    [InlineData("82 00")]
    [InlineData("8a 00")]
    [InlineData("89 01 61")]
    public void Frames_that_carry_nothing_have_a_limit(string hex)
    {
        var frame = Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
        var decoder = new WebSocketDecoder(expectsMask: false);
        for (var i = 0; i < WebSocketDecoder.MostIdleFrames; i++)
        {
            decoder.Decode(frame.ToArray());
        }

        Assert.Equal(WebSocketFault.None, decoder.Fault);
        Assert.Equal(1, decoder.Decode([0x82, 0x01, 0x61]));
        for (var i = 0; i <= WebSocketDecoder.MostIdleFrames; i++)
        {
            decoder.Decode(frame.ToArray());
        }

        Assert.Equal(WebSocketFault.Flood, decoder.Fault);
    }

    [Theory]
    [InlineData("88 00", 1005, "")]
    [InlineData("88 02 03 e8", 1000, "")]
    [InlineData("88 06 03 f0 62 75 73 79", 1008, "busy")]
    [InlineData("88 03 03 f0 1b", 1008, "?")]
    [InlineData("88 02 03 f6", 1014, "")]
    [InlineData("88 02 0b b8", 3000, "")]
    [InlineData("88 06 13 87 c3 a4 c3 a4", 4999, "\u00e4\u00e4")]
    public void A_close_has_its_code_and_a_clean_text(string hex, int code, string text)
    {
        byte[] bytes = [.. Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal)), 0x82, 0x01, 0x61];
        var decoder = new WebSocketDecoder(expectsMask: false);
        Assert.Equal(0, decoder.Decode(bytes));
        Assert.Equal((code, text, true), (decoder.CloseCode, decoder.CloseText, decoder.HasEnded));
    }

    /// <summary>Messages and fragments of random lengths, with control frames between them.</summary>
    private static (byte[] Wire, List<byte[]> Pings) Encode(SeededRandom random, byte[] payload, bool masked)
    {
        var wire = new List<byte>();
        var pings = new List<byte[]>();
        var inMessage = false;
        for (var sent = 0; sent < payload.Length || inMessage;)
        {
            if (random.Next(5) == 0)
            {
                var ping = random.NextBytes(random.Next(0, 126));
                var isPing = random.Next(2) == 0;
                Add(isPing ? 0x89 : 0x8a, ping);
                if (isPing)
                {
                    pings.Add(ping);
                }
            }

            var length = Math.Min(payload.Length - sent, random.Next(0, random.Next(1, 70_000)));
            var isFinal = random.Next(2) == 0;
            Add((isFinal ? 0x80 : 0) | (inMessage ? 0 : 2), payload.AsSpan(sent, length));
            inMessage = !isFinal;
            sent += length;
        }

        return (wire.ToArray(), pings);

        void Add(int first, ReadOnlySpan<byte> body)
        {
            wire.Add((byte)first);
            var bit = masked ? 0x80 : 0;
            Span<byte> length = stackalloc byte[8];
            switch (body.Length)
            {
                case < 126:
                    wire.Add((byte)(bit | body.Length));
                    break;
                case < 65_536:
                    wire.Add((byte)(bit | 126));
                    BinaryPrimitives.WriteUInt16BigEndian(length, (ushort)body.Length);
                    wire.AddRange(length[..2]);
                    break;
                default:
                    wire.Add((byte)(bit | 127));
                    BinaryPrimitives.WriteInt64BigEndian(length, body.Length);
                    wire.AddRange(length);
                    break;
            }

            var bytes = body.ToArray();
            if (masked)
            {
                wire.AddRange(_mask);
                bytes = [.. bytes.Select((value, i) => (byte)(value ^ _mask[i & 3]))];
            }

            wire.AddRange(bytes);
        }
    }
}
