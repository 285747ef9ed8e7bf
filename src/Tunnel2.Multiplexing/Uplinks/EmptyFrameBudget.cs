namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// How many frames a peer may send that carry nothing: empty DATA without END, unknown types, PINGs, WINDOWs of a few bytes, frames of
/// streams that are over. They have no credit, so this is what bounds them. Lists of nodes have a smaller budget of their own, because
/// each is work for the agent. A mutable struct of the reader.
/// </summary>
/// <param name="burst">Frames at once.</param>
/// <param name="perSecond">Frames a second in the long run.</param>
internal struct EmptyFrameBudget(int burst, int perSecond)
{
    /// <summary>Lists of nodes at once.</summary>
    public const int ListBurst = 16;

    /// <summary>Lists of nodes a second in the long run. An honest server sends one.</summary>
    public const int ListsPerSecond = 4;

    /// <summary>Frames at once.</summary>
    public const int Burst = 10_000;

    /// <summary>Frames a second in the long run. An honest peer sends a few PINGs, and a RST for a stream that has just ended.</summary>
    public const int PerSecond = 1_000;

    /// <summary>A WINDOW below this carries nothing: the smallest window returns its credit by four times as much.</summary>
    public const int LeastIncrement = 1_024;

    private int _used;
    private long _usedSince;

    /// <summary>Counts a frame.</summary>
    /// <param name="time">A clock; it is asked once in a burst.</param>
    /// <returns>False when it is one too many.</returns>
    public bool TryTake(TimeProvider time)
    {
        if (_used == 0)
        {
            _usedSince = time.GetTimestamp();
        }

        if (++_used <= burst)
        {
            return true;
        }

        // What time has given back since the first of them.
        _used -= (int)Math.Min(burst, time.GetElapsedTime(_usedSince).TotalSeconds * perSecond);
        _usedSince = time.GetTimestamp();
        return _used <= burst;
    }
}
