using System.Security.Cryptography;

namespace Tunnel2.TestUtilities.Tests.Patterns;

public sealed class PatternBytesTests
{
    [Theory]
    [InlineData(0, 100)]
    [InlineData(PatternBytes.Period - 3, 10)]
    [InlineData(5_000_000_000, 3_000_000)]
    public void Any_range_equals_the_bytes_at_its_positions(long start, int length)
    {
        var bytes = new byte[length];
        PatternBytes.Fill(bytes, start);
        for (var i = 0; i < length; i += 1 + (length / 1000))
        {
            Assert.Equal(PatternBytes.At(start + i), bytes[i]);
        }

        Assert.Equal(-1, PatternBytes.IndexOfDifference(bytes, start));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(4096)]
    [InlineData(16 * 1024)]
    [InlineData(1024 * 1024)]
    public void A_shift_shows_at_once(int shift)
    {
        var bytes = new byte[64];
        PatternBytes.Fill(bytes, shift);
        Assert.InRange(PatternBytes.IndexOfDifference(bytes, 0), 0, 3);
    }

    [Fact]
    public void A_wrong_byte_is_named_with_its_position()
    {
        var bytes = new byte[2_500_000];
        PatternBytes.Fill(bytes, 7);
        bytes[2_400_000] ^= 1;
        var e = Assert.Throws<InvalidDataException>(() => PatternBytes.Verify(bytes, 7));
        Assert.Contains("position 2400007 ", e.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void The_hash_is_that_of_the_bytes()
    {
        var bytes = new byte[PatternBytes.Period + 17];
        PatternBytes.Fill(bytes, 0);
        Assert.Equal(Convert.ToHexStringLower(SHA256.HashData(bytes)), PatternBytes.Sha256Hex(bytes.Length));
    }
}
