namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The frames that wait to be sent to one client, in order, with how far the first of them has been sent. A part of the client: not
/// thread-safe, the client's gate guards it. The default value is an empty queue, which holds no memory.
/// </summary>
internal struct FrameQueue
{
    private const int SmallestSize = 4;

    private byte[][]? _frames;
    private int _head;
    private int _sentOfHead;
    private int _underWay;

    /// <summary>How many frames wait, the one that is being sent among them.</summary>
    public int Count { get; private set; }

    /// <summary>Puts a frame after the others.</summary>
    public void Append(byte[] frame)
    {
        _frames ??= new byte[SmallestSize][];
        if (Count == _frames.Length)
        {
            byte[][] larger = new byte[Count * 2][];
            for (int i = 0; i < Count; i++)
            {
                larger[i] = _frames[(_head + i) & (_frames.Length - 1)];
            }

            _frames = larger;
            _head = 0;
        }

        _frames[(_head + Count++) & (_frames.Length - 1)] = frame;
    }

    /// <summary>
    /// What to send next; until <see cref="Advance"/> or <see cref="NothingIsUnderWay"/> it is under way. There is at least one frame.
    /// </summary>
    /// <param name="scratch">Room in which small frames are put together.</param>
    public (byte[] Source, int Offset, int Length) Gather(byte[] scratch)
    {
        byte[] first = _frames![_head];
        _underWay = 1;
        if (Count == 1 || first.Length - _sentOfHead > scratch.Length)
        {
            return (first, _sentOfHead, first.Length - _sentOfHead);
        }

        int length = 0;
        int skip = _sentOfHead;
        for (int i = 0; i < Count; i++)
        {
            ReadOnlySpan<byte> frame = _frames[(_head + i) & (_frames.Length - 1)].AsSpan(skip);
            if (frame.Length > scratch.Length - length)
            {
                break;
            }

            frame.CopyTo(scratch.AsSpan(length));
            length += frame.Length;
            skip = 0;
            _underWay = i + 1;
        }

        return (scratch, 0, length);
    }

    /// <summary>What was gathered has not been sent after all.</summary>
    public void NothingIsUnderWay() => _underWay = 0;

    /// <summary>Bytes of what was gathered have been sent.</summary>
    public void Advance(int sent)
    {
        _underWay = 0;
        while (sent > 0)
        {
            int rest = _frames![_head].Length - _sentOfHead;
            if (sent < rest)
            {
                _sentOfHead += sent;
                break;
            }

            sent -= rest;
            _sentOfHead = 0;
            _frames[_head] = null!;
            _head = (_head + 1) & (_frames.Length - 1);
            Count--;
        }
    }

    /// <summary>Drops all frames of which nothing is under way or sent.</summary>
    public void DropWaiting()
    {
        int kept = Math.Max(_underWay, _sentOfHead > 0 ? 1 : 0);
        for (; Count > kept; Count--)
        {
            _frames![(_head + Count - 1) & (_frames.Length - 1)] = null!;
        }
    }

    /// <summary>An idle client holds no queue, or a very small one.</summary>
    public void ReleaseIfEmpty()
    {
        if (Count == 0)
        {
            _frames = _frames?.Length > SmallestSize ? null : _frames;
            _head = 0;
        }
    }
}
