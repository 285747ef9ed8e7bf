namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// How long the oldest byte that a stream holds has been here, as seen by looks at it: at a look all bytes are marked, and the mark is
/// renewed once they have been consumed. A mutable struct; the stream's lock guards it.
/// </summary>
internal struct HeldAge
{
    private long _markedAt;
    private long _mark;
    private bool _isMarked;

    /// <summary>Looks.</summary>
    /// <param name="held">Bytes held now.</param>
    /// <param name="consumed">Bytes consumed so far.</param>
    /// <param name="time">The clock of <paramref name="now"/>.</param>
    /// <param name="now">A timestamp.</param>
    /// <returns>At least this long ago the oldest byte came; zero where no earlier look has seen it.</returns>
    public TimeSpan Look(int held, long consumed, TimeProvider time, long now)
    {
        if (held == 0)
        {
            _isMarked = false;
        }
        else if (!_isMarked || consumed >= _mark)
        {
            _isMarked = true;
            _markedAt = now;
            _mark = consumed + held;
        }
        else
        {
            return time.GetElapsedTime(_markedAt, now);
        }

        return TimeSpan.Zero;
    }
}
