using System.Security.Cryptography;

#if TEST_BACKEND
namespace Tunnel2.TestBackend;
#else
namespace Tunnel2.TestUtilities;
#endif

/// <summary>
/// An endless sequence of bytes in which each byte depends on its position alone, so that any range of it can be made and checked
/// without the rest. Thread-safe.
/// </summary>
/// <remarks>
/// The sequence repeats after a prime number of bytes (just under 1 MiB) of pseudo-random content: a piece that was lost, doubled or
/// moved by any round number of bytes (a frame, a buffer, a page) therefore shows. The table holds two periods, so a window of up to one
/// period is contiguous wherever it starts, and can be sent without a copy.
/// This file is compiled into the test utilities (public) and into the test backend (internal).
/// </remarks>
#if TEST_BACKEND
internal
#else
public
#endif
static class PatternBytes
{
    /// <summary>After this many bytes the sequence repeats; also the longest window.</summary>
    public const int Period = 1_048_573;

    private static readonly byte[] _table = MakeTable();

    /// <summary>The byte at <paramref name="position"/> (≥ 0).</summary>
    public static byte At(long position) => _table[(int)(position % Period)];

    /// <summary>
    /// The bytes from <paramref name="position"/> on, at most <paramref name="maxLength"/> and at most <see cref="Period"/>, uncopied.
    /// </summary>
    public static ReadOnlyMemory<byte> Window(long position, long maxLength) =>
        _table.AsMemory((int)(position % Period), (int)Math.Min(maxLength, Period));

    /// <summary>Writes the bytes from <paramref name="position"/> on into <paramref name="destination"/>.</summary>
    public static void Fill(Span<byte> destination, long position)
    {
        while (!destination.IsEmpty)
        {
            var window = Window(position, destination.Length).Span;
            window.CopyTo(destination);
            destination = destination[window.Length..];
            position += window.Length;
        }
    }

    /// <summary>Compares <paramref name="actual"/> with the bytes from <paramref name="position"/> on.</summary>
    /// <returns>The index in <paramref name="actual"/> of the first byte that differs, or -1.</returns>
    public static int IndexOfDifference(ReadOnlySpan<byte> actual, long position)
    {
        var done = 0;
        while (done < actual.Length)
        {
            var expected = Window(position + done, actual.Length - done).Span;
            var same = expected.CommonPrefixLength(actual.Slice(done, expected.Length));
            if (same < expected.Length)
            {
                return done + same;
            }

            done += expected.Length;
        }

        return -1;
    }

    /// <summary>Throws unless <paramref name="actual"/> holds the bytes from <paramref name="position"/> on.</summary>
    /// <exception cref="InvalidDataException">A byte differs; the message says which.</exception>
    public static void Verify(ReadOnlySpan<byte> actual, long position)
    {
        var index = IndexOfDifference(actual, position);
        if (index >= 0)
        {
            throw new InvalidDataException(
                $"The byte at position {position + index} is 0x{actual[index]:X2}; the pattern has 0x{At(position + index):X2} there.");
        }
    }

    /// <summary>The SHA-256 of the first <paramref name="length"/> bytes, in lower-case hexadecimal digits.</summary>
    public static string Sha256Hex(long length, CancellationToken cancellationToken = default)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        for (long position = 0; position < length;)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var window = Window(position, length - position).Span;
            hash.AppendData(window);
            position += window.Length;
        }

        return Convert.ToHexStringLower(hash.GetHashAndReset());
    }

    private static byte[] MakeTable()
    {
        var table = new byte[2 * Period];
        for (var i = 0; i < Period; i++)
        {
            // The finishing steps of SplitMix64: every bit of the position reaches every bit of the result.
            var x = (ulong)i + 0x9E3779B97F4A7C15UL;
            x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9UL;
            x = (x ^ (x >> 27)) * 0x94D049BB133111EBUL;
            table[i] = (byte)(x ^ (x >> 31));
        }

        table.AsSpan(0, Period).CopyTo(table.AsSpan(Period));
        return table;
    }
}
