namespace Tunnel2.TestUtilities;

/// <summary>What a direction of a <see cref="CuttingProxy"/> does to the bytes. Immutable.</summary>
public sealed record LinkSettings
{
    /// <summary>How long each byte is held back. Order is kept; throughput is at most 16 MiB per delay.</summary>
    public TimeSpan Delay { get; init; }

    /// <summary>The most bytes that leave per second; 0: no limit.</summary>
    public long BytesPerSecond { get; init; }

    /// <summary>Reads nothing, so that the sender's buffers fill; what was read stays and continues after the pause.</summary>
    public bool IsPaused { get; init; }

    /// <summary>
    /// Reads everything and passes nothing on, the end of the stream included. What fell in is lost: cut the connection afterwards.
    /// </summary>
    public bool IsBlackHole { get; init; }
}
