namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// The header blocks of a stream that are not read yet. They have no credit, so their number and the bytes of interim ones are bounded, and
/// all except the first count as memory. A mutable struct; the stream's lock guards it.
/// </summary>
internal struct UnreadHeads
{
    /// <summary>How many interim responses a stream may have: twice what an agent passes on.</summary>
    public const int MaxInterim = 32;

    /// <summary>How many may wait unread.</summary>
    public const int MaxUnread = 20;

    /// <summary>
    /// How many bytes of interim responses may wait unread: those beyond are dropped, as any proxy may do (RFC 9110 section 15.2).
    /// </summary>
    public const int MaxInterimBytes = 64 * 1024;

    private int _count;
    private int _interim;
    private int _waiting;

    /// <summary>Bytes of the blocks that wait after another.</summary>
    public readonly int Bytes => _waiting;

    /// <summary>A block came.</summary>
    /// <param name="length">Its bytes.</param>
    /// <param name="isInterim">Whether it is an interim response.</param>
    /// <param name="waits">Bytes that are to be counted as memory.</param>
    public HeadRoom Add(int length, bool isInterim, out int waits)
    {
        waits = 0;
        if (isInterim && ++_interim > MaxInterim)
        {
            return HeadRoom.TooMany;
        }

        if (_count == 0)
        {
            // The usual case: it is read at once.
            _count = 1;
            return HeadRoom.Kept;
        }

        if (isInterim && _waiting + length > MaxInterimBytes)
        {
            return HeadRoom.Dropped;
        }

        if (++_count > MaxUnread)
        {
            return HeadRoom.TooMany;
        }

        waits = length;
        _waiting += length;
        return HeadRoom.Kept;
    }

    /// <summary>The first block was read: the next one does not wait after another any more.</summary>
    /// <param name="length">Bytes of the one that was read.</param>
    /// <param name="waited">Bytes that are not to be counted any more.</param>
    public void Remove(int length, out int waited)
    {
        _count--;
        waited = Math.Min(length, _waiting);
        if (_count <= 1)
        {
            waited = _waiting;
        }

        _waiting -= waited;
    }

    /// <summary>The stream lets go of all.</summary>
    /// <returns>Bytes that are not to be counted any more.</returns>
    public int TakeWaiting()
    {
        var waiting = _waiting;
        this = default;
        return waiting;
    }
}

/// <summary>What becomes of a header block that came.</summary>
internal enum HeadRoom
{
    /// <summary>It is kept until it is read.</summary>
    Kept,

    /// <summary>An interim response for which there is no room.</summary>
    Dropped,

    /// <summary>More than a peer sends that keeps to the protocol.</summary>
    TooMany,
}
