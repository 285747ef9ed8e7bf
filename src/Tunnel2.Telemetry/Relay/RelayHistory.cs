namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// The byte stream that all relay clients get, kept for as long as a client may lag: encoded once, sent to all. Only the pump appends; the
/// members for joining are safe on any thread.
/// </summary>
internal sealed class RelayHistory
{
    private readonly Lock _lock = new();
    private readonly long _kept;
    private RelaySegment _oldest;
    private RelaySegment _current;
    private RelaySegment? _spare;

    internal RelayHistory(long kept, long nextSequence)
    {
        _kept = kept;
        NextSequence = nextSequence;
        _oldest = _current = new RelaySegment();
    }

    /// <summary>The first sequence that is not in the stream yet.</summary>
    internal long NextSequence { get; private set; }

    /// <summary>Length of the stream so far, bytes.</summary>
    internal long Position => _current.Start + _current.Written;

    /// <summary>
    /// Lets a client join at the end of the stream, and returns the sequence number with which it continues there. The client gets its
    /// place under the lock: from then on the pump sees how much it lags.
    /// </summary>
    internal long Join(RelayConnection connection)
    {
        lock (_lock)
        {
            connection.Join(_current, _current.Written);
            return NextSequence;
        }
    }

    /// <summary>Memory for a frame of at most <paramref name="bound"/> bytes, in the current segment or a new one.</summary>
    internal Span<byte> GetSpan(int bound)
    {
        if (RelaySegment.Size - _current.Written < bound)
        {
            lock (_lock)
            {
                RelaySegment next = _spare ?? new RelaySegment();
                _spare = null;
                next.Start = Position;
                next.Next = null;
                next.Written = 0;
                _current.Next = next;
                _current = next;
            }
        }

        return _current.Buffer.AsSpan(_current.Written);
    }

    /// <summary>Ends a frame.</summary>
    internal void Advance(int bytes, long nextSequence)
    {
        lock (_lock)
        {
            NextSequence = nextSequence;
            _current.Written += bytes;
        }
    }

    /// <summary>
    /// Frees segments that no client within its limit can need. The caller has closed the clients beyond it; a client that is still in a
    /// send keeps its segment from being reused.
    /// </summary>
    internal void Trim()
    {
        while (_oldest.Next is { } next && Position - next.Start > _kept)
        {
            RelaySegment old = _oldest;
            _oldest = next;
            if (Volatile.Read(ref old.PendingSends) == 0)
            {
                _spare ??= old;
            }
        }
    }
}
