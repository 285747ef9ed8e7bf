namespace Tunnel2.Http2.Frames;

/// <summary>
/// Bounds the frames of a peer that cost work and carry nothing: PING, SETTINGS, empty DATA, CONTINUATION, WINDOW_UPDATE. Each takes
/// a token. Tokens come back with time, and with each frame of ours that may cause such frames. A WINDOW_UPDATE that returns bytes which
/// were sent to the peer takes none. A mutable struct: keep it in a field. Not thread-safe.
/// </summary>
internal struct Http2FloodGuard
{
    /// <summary>Tokens at the start, and at most.</summary>
    public const int Capacity = 2000;

    /// <summary>Tokens that come back in a second.</summary>
    public const int PerSecond = 200;

    /// <summary>Tokens for a frame of ours: its DATA may be granted again for stream and connection, a request may be reset.</summary>
    public const int PerOwnFrame = 4;

    /// <summary>Tokens for a reset of a stream, whether the peer sends it or makes us send it.</summary>
    public const int PerReset = 4;

    /// <summary>Each byte of DATA is granted again twice: for its stream and for the connection.</summary>
    private const int Grants = 2;

    /// <summary>
    /// Bytes that a WINDOW_UPDATE counts at least. Clients of gRPC for C and Python send one for each message that was read, and a message
    /// has 5 bytes or more; there are a thousand messages in one frame of ours.
    /// </summary>
    private const int LeastGrant = 4;

    /// <summary>Bytes that may wait to be granted again, at most.</summary>
    private const int MostUngranted = 64 * 1024 * 1024;

    private readonly TimeProvider _time;
    private long _filledAt;
    private int _tokens;
    private int _ungranted;

    public Http2FloodGuard(TimeProvider time)
    {
        _time = time;
        _filledAt = time.GetTimestamp();
        _tokens = Capacity;
    }

    /// <summary>A frame of ours was queued.</summary>
    public void OnOwnFrame() => _tokens = Math.Min(Capacity, _tokens + PerOwnFrame);

    /// <summary>DATA of ours was queued.</summary>
    /// <param name="length">Its bytes.</param>
    public void OnOwnData(int length)
    {
        OnOwnFrame();
        _ungranted = Math.Min(MostUngranted, _ungranted + (Grants * length));
    }

    /// <summary>A WINDOW_UPDATE came.</summary>
    /// <param name="increment">The bytes that it grants.</param>
    /// <returns>False when there were too many that return nothing: the connection ends.</returns>
    public bool TryTakeGrant(int increment)
    {
        var counted = Math.Max(increment, LeastGrant);
        if (increment <= 0 || counted > _ungranted)
        {
            return TryTake();
        }

        _ungranted -= counted;
        return true;
    }

    /// <summary>A frame came.</summary>
    /// <param name="cost">Its tokens.</param>
    /// <returns>False when there were too many: the connection ends.</returns>
    public bool TryTake(int cost = 1)
    {
        if (_tokens < cost)
        {
            // The clock is read only here: a peer that behaves never gets this far.
            var now = _time.GetTimestamp();
            var filled = (long)(_time.GetElapsedTime(_filledAt, now).TotalSeconds * PerSecond);
            if (filled > 0)
            {
                _tokens = (int)Math.Min(Capacity, _tokens + filled);
                _filledAt = now;
            }
        }

        _tokens -= cost;
        return _tokens >= 0;
    }
}
