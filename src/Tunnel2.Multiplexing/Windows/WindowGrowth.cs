namespace Tunnel2.Multiplexing.Windows;

/// <summary>
/// When a stream's window doubles: the rule of .NET's <c>Http2StreamWindowManager</c>. A consumer that takes more in one round trip than
/// the window holds is held up by the window and by nothing else. A mutable struct; the stream's lock guards it.
/// </summary>
internal struct WindowGrowth
{
    /// <summary>
    /// Below this round trip nothing grows: a window of 256 KiB then carries 256 MB/s, and what limits a stream on such a path is the
    /// machine, not the window. Larger windows would only make longer queues.
    /// </summary>
    private static readonly TimeSpan _shortPath = TimeSpan.FromMilliseconds(1);

    private long _returned;

    /// <summary>Asked each time credit returns.</summary>
    /// <param name="count">The bytes consumed after the last return.</param>
    /// <param name="size">The window as it is, in bytes.</param>
    /// <param name="limit">The largest window allowed, in bytes.</param>
    /// <param name="roundTrip">The path's round trip without queues, or zero where it is not known yet.</param>
    /// <param name="time">The clock of <paramref name="now"/>.</param>
    /// <param name="now">A timestamp.</param>
    /// <returns>Bytes by which the window should grow, or 0.</returns>
    public int Ask(int count, int size, int limit, TimeSpan roundTrip, TimeProvider time, long now)
    {
        var last = _returned;
        _returned = Math.Max(1, now);
        if (last == 0 || size >= limit || roundTrip < _shortPath)
        {
            // The first return only starts the clock: it is not known how long the bytes before it took.
            return 0;
        }

        // count / elapsed is the rate; what it brings in one round trip is the product of bandwidth and delay.
        var elapsed = time.GetElapsedTime(last, now).Ticks;
        return count * (double)roundTrip.Ticks > size * (double)elapsed ? Math.Min(size, limit - size) : 0;
    }
}
