using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Tests.Records;

public sealed class Crc32CTests
{
    [Fact]
    public void The_vectors_of_RFC_3720_appendix_B_4_match()
    {
        Assert.Equal(0x8A9136AAu, Crc32C.Compute(new byte[32]));
        Assert.Equal(0x62A8AB43u, Crc32C.Compute(Enumerable.Repeat((byte)0xFF, 32).ToArray()));
        Assert.Equal(0x46DD794Eu, Crc32C.Compute([.. Enumerable.Range(0, 32).Select(i => (byte)i)]));
        Assert.Equal(0xE3069283u, Crc32C.Compute("123456789"u8));
    }

    [Fact]
    public void Appending_in_parts_equals_a_bitwise_reference()
    {
        byte[] data = new byte[300];
        new Random(3).NextBytes(data);
        for (int length = 0; length < data.Length; length++)
        {
            uint expected = 0xFFFFFFFF;
            foreach (byte b in data.AsSpan(0, length))
            {
                expected ^= b;
                for (int bit = 0; bit < 8; bit++)
                {
                    expected = (expected >> 1) ^ ((expected & 1) * 0x82F63B78u);
                }
            }

            int cut = length / 3;
            Assert.Equal(expected, Crc32C.Append(Crc32C.Append(Crc32C.Seed, data.AsSpan(0, cut)), data.AsSpan(cut, length - cut)));
        }
    }

    [Theory]
    [InlineData(3071)]
    [InlineData(3072)]
    [InlineData(3073)]
    [InlineData(6144)]
    [InlineData(100_003)]
    public void Long_data_gives_what_it_gives_bit_by_bit_wherever_it_is_cut(int length)
    {
        byte[] data = new byte[length];
        new Random(length).NextBytes(data);
        uint expected = 0xFFFFFFFF;
        foreach (byte b in data)
        {
            expected ^= b;
            for (int bit = 0; bit < 8; bit++)
            {
                expected = (expected >> 1) ^ ((expected & 1) * 0x82F63B78u);
            }
        }

        Assert.Equal(~expected, Crc32C.Compute(data));
        foreach (int cut in new[] { 0, 1, 7, length / 2, length - 3072, length - 1 })
        {
            Assert.Equal(
                expected, Crc32C.Append(Crc32C.Append(Crc32C.Seed, data.AsSpan(0, Math.Max(0, cut))), data.AsSpan(Math.Max(0, cut))));
        }
    }
}
