namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// A piece of the byte stream that all relay clients share; holds whole frames only. Written by the pump alone; readable up to
/// <see cref="Written"/> by everyone.
/// </summary>
internal sealed class RelaySegment
{
    internal const int Size = 512 * 1024;

    private int _written;
    private RelaySegment? _next;

    internal byte[] Buffer { get; } = new byte[Size];

    /// <summary>Where the segment starts in the stream, bytes.</summary>
    internal long Start { get; set; }

    /// <summary>The segment behind this one; set only after the last frame has been written here.</summary>
    internal RelaySegment? Next
    {
        get => Volatile.Read(ref _next);
        set => Volatile.Write(ref _next, value);
    }

    /// <summary>Asynchronous sends that still read from the buffer; a segment with one is not used again.</summary>
    internal int PendingSends;

    internal int Written
    {
        get => Volatile.Read(ref _written);
        set => Volatile.Write(ref _written, value);
    }
}
