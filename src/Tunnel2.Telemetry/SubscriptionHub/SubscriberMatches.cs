using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The subscribers of one published message: filled by <see cref="ISubscriptionIndex.Get"/>, walked with <c>foreach</c>.</summary>
/// <remarks>
/// A publisher keeps one and uses it for every message, so that nothing is allocated; not thread-safe. It keeps the last result alive until
/// the next use or <see cref="Clear"/>. A subscriber occurs once for each of its subscriptions that match the channel.
/// </remarks>
internal sealed class SubscriberMatches
{
    private Segment[] _segments = new Segment[4];
    private int _count;

    /// <summary>
    /// Whether a subscriber may occur more than once: it was found by a channel and by a pattern, or by several patterns.
    /// </summary>
    public bool MayRepeat => _count > 1;

    /// <summary>Whether there are no subscribers.</summary>
    public bool IsEmpty
    {
        get
        {
            Enumerator enumerator = GetEnumerator();
            return !enumerator.MoveNext();
        }
    }

    /// <summary>Removes the result.</summary>
    public void Clear()
    {
        System.Array.Clear(_segments, 0, _count);
        _count = 0;
    }

    /// <summary>Adds the slots of one channel or pattern.</summary>
    public void Add(SlotArray array) => Add(array.Slots, array.Used);

    /// <summary>
    /// Adds the first <paramref name="used"/> slots of an array that no longer changes, except that slots may become holes.
    /// </summary>
    public void Add(Subscriber?[] slots, int used)
    {
        if (_count == _segments.Length)
        {
            System.Array.Resize(ref _segments, _count * 2);
        }

        _segments[_count++] = new Segment(slots, used);
    }

    /// <summary>Begins a walk over the subscribers.</summary>
    public Enumerator GetEnumerator() => new(this);

    private readonly record struct Segment(Subscriber?[] Slots, int Used);

    /// <summary>Walks the segments and skips the holes.</summary>
    internal struct Enumerator
    {
        private readonly SubscriberMatches _matches;
        private Subscriber?[] _slots;
        private int _used;
        private int _segment;
        private int _slot;

        internal Enumerator(SubscriberMatches matches)
        {
            _matches = matches;
            _slots = [];
        }

        /// <summary>Gets the subscriber that the last <see cref="MoveNext"/> found.</summary>
        [AllowNull]
        public Subscriber Current { readonly get => field!; private set; }

        /// <summary>Goes to the next subscriber.</summary>
        /// <returns><see langword="false"/> at the end.</returns>
        public bool MoveNext()
        {
            while (true)
            {
                Subscriber?[] slots = _slots;
                while (_slot < _used)
                {
                    if (slots[_slot++] is { } subscriber)
                    {
                        Current = subscriber;
                        return true;
                    }
                }

                if (_segment == _matches._count)
                {
                    return false;
                }

                (_slots, _used) = _matches._segments[_segment++];
                _slot = 0;
            }
        }
    }
}
