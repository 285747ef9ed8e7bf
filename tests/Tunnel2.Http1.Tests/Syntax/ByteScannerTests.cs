using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1.Tests.Syntax;

public sealed class ByteScannerTests
{
    private const string TokenPunctuation = "!#$%&'*+-.^_`|~";

    [Fact]
    public void Each_scan_stops_at_each_byte_it_should_at_any_place()
    {
        for (int length = 1; length <= 100; length++)
        {
            for (int at = 0; at < length; at += length < 70 ? 1 : 3)
            {
                for (int b = 0; b < 256; b++)
                {
                    byte[] bytes = new byte[length];
                    Array.Fill(bytes, (byte)'a');
                    bytes[at] = (byte)b;
                    Check(bytes, 0);
                    Check(bytes, at);
                    Check(bytes, Math.Min(at + 1, length));
                    Check(bytes, at / 2);
                }
            }
        }
    }

    [Theory]
    [InlineData("A: b\r\n", 0, 1, 4)]
    [InlineData("A: b\r\n", 3, 1, 4)]
    [InlineData("A-Long-Name-Of-A-Field: and its value\r\nB: c\r\n", 0, 22, 37)]
    [InlineData("A: a value that does not fit into one window of sixty-four bytes, but into two\r\n", 0, 1, 78)]
    [InlineData("A: \t\u0080\u00FF\n", 0, 1, 6)]
    [InlineData("A: no end", 0, 1, -1)]
    [InlineData(": b\r\n", 0, -1, 0)]
    [InlineData("A~B: c\r\n", 0, -1, 0)]
    [InlineData("A : b\r\n", 0, -1, 0)]
    [InlineData("A\r\n:", 0, -1, 0)]
    public void A_field_line_is_found_at_once_wherever_it_is(string line, int before, int colon, int lineEnd)
    {
        for (int length = 0; length < 150; length++)
        {
            string prefix = new('x', length);
            byte[] bytes = System.Text.Encoding.Latin1.GetBytes(prefix + new string('\r', before) + line);
            int start = length + before;
            bool found = ByteScanner.TryScanFieldLine(bytes, start, out int foundColon, out int foundEnd);

            Assert.True(!found || colon >= 0);
            Assert.True(found || colon < 0 || bytes.Length < 64 || !System.Runtime.Intrinsics.Vector256.IsHardwareAccelerated);
            if (found)
            {
                Assert.Equal(start + colon, foundColon);
                Assert.Equal(lineEnd < 0 ? bytes.Length : start + lineEnd, foundEnd);
            }
        }
    }

    [Fact]
    public void A_scan_of_nothing_ends_at_once()
    {
        Check([], 0);
        Check(new byte[64], 64);
    }

    [Fact]
    public void A_token_of_rare_characters_only_is_scanned_to_its_end()
    {
        byte[] bytes = [.. Enumerable.Repeat((byte)'~', 500), (byte)':', (byte)' '];
        Assert.Equal(500, ByteScanner.EndOfToken(bytes, 0));
        Assert.Equal(500, ByteScanner.EndOfToken(bytes, 499));
    }

    [Theory]
    [InlineData("/a\\b", 0, 2)]
    [InlineData("/a?\\b", 0, 5)]
    [InlineData("/a?\\b", 4, 5)]
    [InlineData("/a?b\\c d", 3, 6)]
    [InlineData("/a-path-that-is-longer-than-one-vector-of-bytes?q\\r\\s t", 0, 53)]
    [InlineData("/a-path-that-is-longer-than-one-vector-of-bytes\\q?r", 0, 47)]
    public void A_backslash_ends_a_target_before_its_query_only(string target, int start, int end) =>
        Assert.Equal(end, ByteScanner.EndOfTarget(System.Text.Encoding.Latin1.GetBytes(target), start, 0));

    [Fact]
    public void Single_bytes_are_classified_the_same_way()
    {
        for (int b = 0; b < 256; b++)
        {
            Assert.Equal(IsToken((byte)b), ByteScanner.IsTokenByte((byte)b));
            Assert.Equal(IsControl((byte)b), ByteScanner.IsControlByte((byte)b));
        }
    }

    private static void Check(byte[] bytes, int start)
    {
        int token = start;
        while (token < bytes.Length && IsToken(bytes[token]))
        {
            token++;
        }

        int value = start;
        while (value < bytes.Length && !IsControl(bytes[value]))
        {
            value++;
        }

        int target = start;
        while (target < bytes.Length && bytes[target] is > 0x20 and < 0x7F and not (byte)'#'
            && (bytes[target] != (byte)'\\' || bytes.AsSpan(0, target).Contains((byte)'?')))
        {
            target++;
        }

        // Plain comparisons: Assert.Equal would be most of this test's time.
        if (token != ByteScanner.EndOfToken(bytes, start)
            || value != ByteScanner.EndOfFieldValue(bytes, start)
            || target != ByteScanner.EndOfTarget(bytes, start, 0)
            || (token == bytes.Length) != ByteScanner.AreToken(bytes.AsSpan(start))
            || (value == bytes.Length) != ByteScanner.AreFieldValue(bytes.AsSpan(start)))
        {
            Assert.Fail($"from {start} in {Convert.ToHexString(bytes)}");
        }
    }

    private static bool IsToken(byte b) => char.IsAsciiLetterOrDigit((char)b) || TokenPunctuation.Contains((char)b);

    private static bool IsControl(byte b) => (b < 0x20 && b != (byte)'\t') || b == 0x7F;
}
