namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>Bodies that show whose they are and where each byte belongs: what is lost, doubled, misordered or another's is found.</summary>
internal static class Pattern
{
    public static byte[] Make(int seed, int length)
    {
        var bytes = new byte[length];
        Fill(bytes, seed, 0);
        return bytes;
    }

    public static void Fill(Span<byte> bytes, int seed, long offset)
    {
        for (var i = 0; i < bytes.Length; i++)
        {
            bytes[i] = At(seed, offset + i);
        }
    }

    public static void Check(ReadOnlySpan<byte> bytes, int seed, long offset)
    {
        for (var i = 0; i < bytes.Length; i++)
        {
            if (bytes[i] != At(seed, offset + i))
            {
                Assert.Fail($"Body {seed} is wrong at byte {offset + i}.");
            }
        }
    }

    private static byte At(int seed, long offset)
    {
        var mixed = (uint)seed * 2654435761u;
        return (byte)((mixed >> (int)((offset & 3) * 8)) + (offset * 7) + (offset >> 8) + (offset >> 16));
    }
}
