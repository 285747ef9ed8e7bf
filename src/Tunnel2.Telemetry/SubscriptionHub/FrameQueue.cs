namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The frames that wait for one client, in order, and how much of the first was sent. A part of the client: not thread-safe, the client's
/// gate guards it. The default value is an empty queue, which holds no memory.
/// </summary>
internal struct FrameQueue
{
    private const int SmallestSize = 4;

    private byte[][]? _frames;
    private int _head;
    private int _sentOfHead;
    private int _underWay;

    /// <summary>How many frames wait, including the one that is being sent.</summary>
    public int Count { get; private set; }

    /// <summary>Adds a frame at the end.</summary>
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
    /// The bytes to send next; until <see cref="Advance"/> or <see cref="NothingIsUnderWay"/> they count as being sent. There must be a
    /// frame.
    /// </summary>
    /// <param name="scratch">Memory in which small frames are joined.</param>
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

    /// <summary>The gathered bytes were not sent.</summary>
    public void NothingIsUnderWay() => _underWay = 0;

    /// <summary>A number of the gathered bytes was sent.</summary>
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

    /// <summary>Drops all frames except the one that is being sent.</summary>
    public void DropWaiting()
    {
        int kept = Math.Max(_underWay, _sentOfHead > 0 ? 1 : 0);
        for (; Count > kept; Count--)
        {
            _frames![(_head + Count - 1) & (_frames.Length - 1)] = null!;
        }
    }

    /// <summary>Frees the memory of an empty queue, so an idle client holds none or very little.</summary>
    public void ReleaseIfEmpty()
    {
        if (Count == 0)
        {
            _frames = _frames?.Length > SmallestSize ? null : _frames;
            _head = 0;
        }
    }
}
