using Tunnel2.LoadTests.Statistics;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Exchanges;

/// <summary>A stretch of <see cref="PatternBytes"/>, compared byte for byte.</summary>
/// <param name="length">Its length.</param>
/// <param name="varies">Whether each request's stretch begins elsewhere, so that another request's answer shows.</param>
internal sealed class PatternBody(int length, bool varies) : IBodyCheck
{
    /// <summary>A prime, so that neighbours' stretches differ everywhere.</summary>
    private const long Stride = 7919;

    private long _start;
    private long _received;

    /// <inheritdoc/>
    public bool IsComplete => _received == length;

    /// <summary>Where the stretch of an arrival begins.</summary>
    public static long StartOf(long index) => index * Stride % PatternBytes.Period;

    /// <inheritdoc/>
    public void Begin(long index)
    {
        _start = varies ? StartOf(index) : 0;
        _received = 0;
    }

    /// <inheritdoc/>
    public FailureKind Take(ReadOnlySpan<byte> bytes)
    {
        if (_received + bytes.Length > length || PatternBytes.IndexOfDifference(bytes, _start + _received) >= 0)
        {
            return FailureKind.WrongBody;
        }

        _received += bytes.Length;
        return FailureKind.None;
    }
}
