namespace Tunnel2.Telemetry.Relay;

/// <summary>
/// The byte stream that every relay client gets, kept for as long as a client may lag: encoded once, sent to all. Appended by the
/// pump only; the members named for joining are safe on any thread.
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
    /// Lets a client join at the end of the stream, and returns the sequence number with which it goes on there. The client learns its
    /// place under the lock: from then on the pump sees how far it lags.
    /// </summary>
    internal long Join(RelayConnection connection)
    {
        lock (_lock)
        {
            connection.Join(_current, _current.Written);
            return NextSequence;
        }
    }

    /// <summary>Room for a frame of at most <paramref name="bound"/> bytes, in the current segment or a new one.</summary>
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
    /// Lets go of segments that no client within its limit can need. The caller has closed the clients beyond it; one that is still in
    /// the middle of a send keeps its segment from being used again.
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
