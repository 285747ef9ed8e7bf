using System.Diagnostics;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>
/// The subscribers of one channel or pattern: an array with holes, a list of the holes, and a lock that only writers take.
/// </summary>
/// <remarks>
/// Joining fills a hole or the next slot; leaving makes a hole. Both are a few stores for any number of subscribers. A full array is
/// replaced by one twice as large, and an array of three quarters holes by a smaller one without any. Publishers that walk the old array
/// still meet all subscribers, and may meet one that has left since. A replacement costs O(subscribers) after as many joins or leaves, so
/// O(1) each.
/// </remarks>
/// <param name="name">The channel or pattern.</param>
internal sealed class ChannelSlots(string name)
{
    private const int InitialCapacity = 4;
    private const int SmallestToCompact = 64;

    private readonly List<int> _holes = [];
    private ChannelPlace?[] _places = new ChannelPlace?[InitialCapacity];
    private SlotArray _array = new(InitialCapacity);
    private int _count;

    /// <summary>Gets the name of the channel, or the pattern.</summary>
    public string Name { get; } = name;

    /// <summary>Gets the lock of all members except <see cref="Array"/>.</summary>
    public Lock Gate { get; } = new();

    /// <summary>Gets the slots, for publishers; no lock needed.</summary>
    public SlotArray Array => Volatile.Read(ref _array);

    /// <summary>Gets the number of subscribers.</summary>
    public int CountUnsynchronized => _count;

    /// <summary>
    /// Gets or sets a value indicating whether the last subscriber has left and the index has removed this object. Then no subscriber may
    /// join.
    /// </summary>
    public bool IsRetiredUnsynchronized { get; set; }

    /// <summary>Adds a subscriber that is not here yet.</summary>
    public ChannelPlace JoinUnsynchronized(Subscriber subscriber)
    {
        Debug.Assert(Gate.IsHeldByCurrentThread && !IsRetiredUnsynchronized, "Locked and in use.");
        var place = new ChannelPlace(this);
        int slot;
        if (_holes.Count > 0)
        {
            slot = _holes[^1];
            _holes.RemoveAt(_holes.Count - 1);
        }
        else
        {
            slot = _array.Used;
            if (slot == _places.Length)
            {
                ReplaceUnsynchronized(checked(slot * 2));
                slot = _array.Used;
            }
        }

        place.Slot = slot;
        _places[slot] = place;
        Volatile.Write(ref _array.Slots[slot], subscriber);
        if (slot == _array.Used)
        {
            _array.Used = slot + 1;
        }

        _count++;
        return place;
    }

    /// <summary>Removes the subscriber with this place.</summary>
    public void LeaveUnsynchronized(ChannelPlace place)
    {
        Debug.Assert(Gate.IsHeldByCurrentThread && _places[place.Slot] == place, "Locked, and the place is its own.");
        Volatile.Write(ref _array.Slots[place.Slot], null);
        _places[place.Slot] = null;
        _holes.Add(place.Slot);
        _count--;
        if (_array.Used >= SmallestToCompact && _count < _array.Used / 4)
        {
            ReplaceUnsynchronized(Math.Max(InitialCapacity, _count * 2));
        }
    }

    /// <summary>Copies all subscribers, in order and without holes, to a new array, and only then shows it to publishers.</summary>
    private void ReplaceUnsynchronized(int capacity)
    {
        var array = new SlotArray(capacity);
        var places = new ChannelPlace?[capacity];
        int slot = 0;
        for (int i = 0; i < _array.Used; i++)
        {
            if (_places[i] is { } place)
            {
                array.Slots[slot] = _array.Slots[i];
                places[slot] = place;
                place.Slot = slot++;
            }
        }

        array.Used = slot;
        _holes.Clear();
        _places = places;
        Volatile.Write(ref _array, array);
    }
}
