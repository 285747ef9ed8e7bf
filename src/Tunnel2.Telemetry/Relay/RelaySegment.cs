namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// A piece of the byte stream that all relay clients share; it contains whole frames only. The pump alone writes it; all may read it up to
/// <see cref="Written"/>.
/// </summary>
internal sealed class RelaySegment
{
    internal const int Size = 512 * 1024;

    private int _written;
    private RelaySegment? _next;

    internal byte[] Buffer { get; } = new byte[Size];

    /// <summary>The offset of the segment in the stream, in bytes.</summary>
    internal long Start { get; set; }

    /// <summary>The next segment; set only after the last frame was written here.</summary>
    internal RelaySegment? Next
    {
        get => Volatile.Read(ref _next);
        set => Volatile.Write(ref _next, value);
    }

    /// <summary>Number of asynchronous sends that still read from the buffer; above 0 the segment is not reused.</summary>
    internal int PendingSends;

    internal int Written
    {
        get => Volatile.Read(ref _written);
        set => Volatile.Write(ref _written, value);
    }
}
