using System.Numerics;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// What an uplink did so far. Each counter is written by one loop only (a plain increment) and may be read by any thread at any time; a
/// read may be a moment old.
/// </summary>
internal sealed class UplinkStatistics
{
    /// <summary>
    /// The bounds of <see cref="FlushSizes"/> in bytes, each inclusive; the last bucket has what is above the last bound.
    /// </summary>
    public static readonly int[] FlushSizeBounds = [256, 1024, 4096, 16_384, 65_536, 131_072];

    private readonly long[] _flushSizes = new long[FlushSizeBounds.Length + 1];

    public long BytesReceived { get; set; }

    public long FramesReceived { get; set; }

    public long Receives { get; set; }

    public long BytesSent { get; private set; }

    public long FramesSent { get; set; }

    public long Flushes { get; private set; }

    /// <summary>Bytes of the send that is under way, or 0.</summary>
    public int SendingBytes { get; set; }

    /// <summary>How many flushes had how many bytes, by <see cref="FlushSizeBounds"/>.</summary>
    public ReadOnlySpan<long> FlushSizes => _flushSizes;

    /// <summary>The write loop: a batch goes out.</summary>
    public void OnFlush(int bytes)
    {
        BytesSent += bytes;
        Flushes++;
        SendingBytes = bytes;
        _flushSizes[Bucket(bytes)]++;
    }

    private static int Bucket(int bytes) => bytes switch
    {
        <= 256 => 0,
        > 131_072 => 6,
        > 65_536 => 5,

        // The bounds between are powers of four.
        _ => (BitOperations.Log2((uint)(bytes - 1)) - 6) / 2,
    };
}
