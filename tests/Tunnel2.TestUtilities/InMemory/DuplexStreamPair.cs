namespace Tunnel2.TestUtilities;

/// <summary>Two connected in-memory streams with bounded buffers, behaving as two ends of a TCP connection do.</summary>
public sealed class DuplexStreamPair : IDisposable
{
    /// <param name="capacity">How many bytes each direction holds before a write waits (≥ 1).</param>
    public DuplexStreamPair(int capacity = 64 * 1024)
    {
        var leftToRight = new BoundedByteQueue(capacity);
        var rightToLeft = new BoundedByteQueue(capacity);
        Left = new DuplexStream(rightToLeft, leftToRight);
        Right = new DuplexStream(leftToRight, rightToLeft);
    }

    /// <summary>One end.</summary>
    public DuplexStream Left { get; }

    /// <summary>The other end.</summary>
    public DuplexStream Right { get; }

    /// <summary>Disposes of both ends.</summary>
    public void Dispose()
    {
        Left.Dispose();
        Right.Dispose();
    }
}
