using Tunnel2.Http2.Frames;

namespace Tunnel2.Http2.Tests.Frames;

public sealed class Http2FrameScannerTests
{
    private const int Preface = 3;

    /// <summary>Frames with everything that is shown, and with what is not.</summary>
    private static readonly byte[] _bytes =
    [
        1, 2, 3,
        .. Frame(4, 0, 0, [0, 1, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0]),
        .. Frame(4, 1, 0, []),
        .. Frame(1, 5, 1, new byte[300]),
        .. Frame(0, 8, 1, [2, 9, 9, 9]),
        .. Frame(0, 1, 1, [1]),
        .. Frame(3, 0, 1, [0, 0, 0, 8]),
        .. Frame(3, 0, 1, [7]),
        .. Frame(4, 0, 0, new byte[100]),
        .. Frame(0x20, 0, 0x7fffffff, [1]),
    ];

    private static readonly string[] _expected =
    [
        "Settings 0 12 000100000000000400010000", "Settings 0 0 ", "Headers 1 300 ", "Data 1 4 02", "Data 1 1 ", "RstStream 1 4 00000008",
        "RstStream 1 1 07", $"Settings 0 100 {new string('0', 144)}", "32 2147483647 1 ",
    ];

    [Fact]
    public void Frames_are_found_wherever_the_bytes_are_split()
    {
        for (var first = 0; first <= _bytes.Length; first++)
        {
            Assert.Equal(_expected, Scan(_bytes[..first], _bytes[first..]));
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(5)]
    [InlineData(10)]
    [InlineData(80)]
    public void Frames_are_found_in_small_pieces(int length) => Assert.Equal(_expected, Scan([.. _bytes.Chunk(length)]));

    [Fact]
    public void Between_frames_it_is_only_there()
    {
        var scanner = new Http2FrameScanner(preface: 0);
        Assert.True(scanner.IsBetweenFrames);
        ReadOnlySpan<byte> bytes = Frame(0, 0, 1, [1, 2]);
        for (var i = 1; i < bytes.Length; i++)
        {
            var piece = bytes[(i - 1)..i];
            scanner.TryRead(ref piece, out _, out _);
            Assert.False(scanner.IsBetweenFrames);
        }

        var last = bytes[^1..];
        Assert.False(scanner.TryRead(ref last, out _, out _));
        Assert.True(scanner.IsBetweenFrames);
    }

    private static List<string> Scan(params byte[][] pieces)
    {
        var found = new List<string>();
        var scanner = new Http2FrameScanner(Preface);
        foreach (var piece in pieces)
        {
            ReadOnlySpan<byte> bytes = piece;
            while (scanner.TryRead(ref bytes, out var header, out var begin))
            {
                found.Add($"{header.Type} {header.StreamId} {header.Length} {Convert.ToHexString(begin)}");
            }

            Assert.True(bytes.IsEmpty);
        }

        Assert.True(scanner.IsBetweenFrames);
        return found;
    }

    private static byte[] Frame(byte type, byte flags, int id, byte[] payload)
    {
        var frame = new byte[Http2FrameHeader.Size];
        new Http2FrameHeader(payload.Length, (Http2FrameType)type, (Http2FrameFlags)flags, id).Write(frame);
        return [.. frame, .. payload];
    }
}
