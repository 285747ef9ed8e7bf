using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// The streams of an uplink by slot. A look-up is an array index and a comparison of generations. The uplink's reader looks up; slots are
/// taken and freed from any thread. Thread-safe.
/// </summary>
internal sealed class StreamTable
{
    private readonly ShortLock _gate = new();
    private readonly int _maxStreams;
    private readonly Stack<int> _freeSlots = new();
    private Slot[] _slots = new Slot[16];
    private int _used;
    private bool _closed;

    public StreamTable(int maxStreams) => _maxStreams = maxStreams;

    /// <summary>Streams that are open now. May be a moment old.</summary>
    public int Count { get; private set; }

    /// <summary>Streams that were ever opened or accepted. May be a moment old.</summary>
    public long Opened { get; private set; }

    /// <summary>ProxyEntry: takes a free slot and gives its next generation to a stream.</summary>
    /// <returns>False when as many streams are open as may be.</returns>
    public bool TryOpen(TunnelStream stream)
    {
        using (_gate.EnterScope())
        {
            if (_closed)
            {
                return false;
            }

            if (!_freeSlots.TryPop(out var slot))
            {
                if (_used == _maxStreams)
                {
                    return false;
                }

                slot = _used++;
                EnsureUnsynchronized(slot);
            }

            TakeUnsynchronized(slot, StreamId.NextGeneration(_slots[slot].Generation), stream);
            return true;
        }
    }

    /// <summary>The agent: gives a slot to a stream that ProxyEntry opened.</summary>
    /// <param name="id">The id in the HEADERS frame, found to be the slot's next generation.</param>
    /// <param name="stream">The stream.</param>
    public void Accept(StreamId id, TunnelStream stream)
    {
        using (_gate.EnterScope())
        {
            EnsureUnsynchronized(id.Slot);
            TakeUnsynchronized(id.Slot, id.Generation, stream);
        }
    }

    /// <summary>
    /// ProxyEntry, when it drains: opens no more, from the moment on at which no stream is open. One step, so that none slips in between.
    /// </summary>
    /// <returns>Whether that moment has come.</returns>
    public bool TryCloseEmpty()
    {
        using (_gate.EnterScope())
        {
            _closed |= Count == 0;
            return _closed;
        }
    }

    /// <summary>Frees a stream's slot: both of its directions are over.</summary>
    public void Free(StreamId id)
    {
        using (_gate.EnterScope())
        {
            ref var slot = ref _slots[id.Slot];
            if (slot.Stream is not null && slot.Generation == id.Generation)
            {
                slot.Stream = null;
                Count--;
                if (id.Slot < _used)
                {
                    // The agent takes no slots by itself, so it keeps no list of free ones.
                    _freeSlots.Push(id.Slot);
                }
            }
        }
    }

    /// <summary>
    /// ProxyEntry: frees the slot of a stream of which nothing was ever sent. The peer has not seen its generation, so that the next stream
    /// of the slot has to use it.
    /// </summary>
    public void Abandon(StreamId id)
    {
        using (_gate.EnterScope())
        {
            ref var slot = ref _slots[id.Slot];
            if (slot.Stream is not null && slot.Generation == id.Generation)
            {
                slot.Generation = slot.Previous;
                slot.Stream = null;
                Count--;
                _freeSlots.Push(id.Slot);
            }
        }
    }

    /// <summary>Finds whom a frame is for.</summary>
    /// <param name="id">The frame's stream.</param>
    /// <param name="stream">The open stream, or null.</param>
    /// <returns>What the id means here.</returns>
    public StreamLookup Find(StreamId id, out TunnelStream? stream)
    {
        using (_gate.EnterScope())
        {
            stream = null;
            if (id.Slot >= _maxStreams)
            {
                return StreamLookup.OutOfRange;
            }

            var slot = id.Slot < _slots.Length ? _slots[id.Slot] : default;
            if (id.Generation == slot.Generation)
            {
                stream = slot.Stream;
                return stream is null ? StreamLookup.Over : StreamLookup.Open;
            }

            if (id.Generation == StreamId.NextGeneration(slot.Generation))
            {
                return slot.Stream is null ? StreamLookup.Next : StreamLookup.NotFree;
            }

            return slot.Generation != 0 && StreamId.IsEarlierGeneration(id.Generation, slot.Generation)
                ? StreamLookup.Over
                : StreamLookup.NeverOpened;
        }
    }

    /// <summary>All open streams, as they are now.</summary>
    public List<TunnelStream> Snapshot()
    {
        var open = new List<TunnelStream>();
        using (_gate.EnterScope())
        {
            foreach (var slot in _slots)
            {
                if (slot.Stream is not null)
                {
                    open.Add(slot.Stream);
                }
            }
        }

        return open;
    }

    /// <summary>The peer is about to be asked for a sign of life: all requests without an answer count as asked about.</summary>
    /// <returns>Whether there is one that did not before.</returns>
    public bool AskAboutUnanswered()
    {
        var hasNew = false;
        using (_gate.EnterScope())
        {
            for (var slot = 0; Count > 0 && slot < _used; slot++)
            {
                if (_slots[slot].Stream is { IsAskedAbout: false, IsUnanswered: true } stream)
                {
                    stream.IsAskedAbout = true;
                    hasNew = true;
                }
            }
        }

        return hasNew;
    }

    private void TakeUnsynchronized(int slot, ushort generation, TunnelStream stream)
    {
        _slots[slot] = new Slot { Generation = generation, Previous = _slots[slot].Generation, Stream = stream };
        Count++;
        Opened++;
        stream.Open(new StreamId(slot, generation));
    }

    private void EnsureUnsynchronized(int slot)
    {
        if (slot >= _slots.Length)
        {
            Array.Resize(ref _slots, Math.Min(_maxStreams, Math.Max(slot + 1, _slots.Length * 2)));
        }
    }

    private struct Slot
    {
        public ushort Generation;
        public ushort Previous;
        public TunnelStream? Stream;
    }
}

/// <summary>What a frame's stream id means.</summary>
internal enum StreamLookup
{
    /// <summary>An open stream.</summary>
    Open,

    /// <summary>A stream that is over; the frame crossed its end and is dropped.</summary>
    Over,

    /// <summary>The next stream of a free slot: what a HEADERS frame that opens must carry.</summary>
    Next,

    /// <summary>
    /// The next generation of a slot that is not free yet: <see cref="ProtocolError.StreamNotAllowed"/> for a HEADERS frame.
    /// </summary>
    NotFree,

    /// <summary>A generation that was never opened: <see cref="ProtocolError.UnknownStream"/>.</summary>
    NeverOpened,

    /// <summary>A slot beyond what the handshake allowed.</summary>
    OutOfRange,
}
