using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Parking;

/// <summary>
/// The requests that wait for agents to come back: a list for each name, bounded for each name, in number and in bytes. Where all places
/// are taken, the visitor's address that has most gives way to one that has less, and then the name: after a start each name may be
/// waited for, so one visitor could make up as many as there are places. All share one timer, which runs only while requests wait;
/// deadlines are accurate to a tenth of a second. Thread-safe.
/// </summary>
internal sealed class ParkingLot : IDisposable
{
    /// <summary>How often deadlines are checked.</summary>
    public static readonly TimeSpan SweepPeriod = TimeSpan.FromMilliseconds(100);

    /// <summary>An address that has more than this share of all makes no other address give way by the names that it asks for.</summary>
    private const int ModestShare = 8;

    private readonly Lock _gate = new();
    private readonly Dictionary<string, List<ParkedRequest>> _waiting = new(StringComparer.Ordinal);
    private readonly Dictionary<AddressKey, LinkedList<ParkedRequest>> _addresses = [];
    private readonly TimeProvider _timeProvider;
    private readonly ContainedFaults _faults;
    private readonly ITimer _timer;
    private readonly int _maxPerName;
    private readonly int _maxTotal;
    private readonly long _maxBytes;
    private int _count;
    private long _bytes;
    private bool _closed;

    public ParkingLot(ProxyEntrySettings settings, TimeProvider timeProvider, ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults(timeProvider);
        _timeProvider = timeProvider;
        _maxPerName = settings.ParkedPerName;
        _maxTotal = settings.ParkedTotal;
        _maxBytes = settings.ParkedBytes;
        _timer = timeProvider.CreateTimer(
            static self => ((ParkingLot)self!).OnTimer(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>Requests that wait now.</summary>
    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _count;
            }
        }
    }

    /// <summary>Bytes that the waiting requests count for.</summary>
    public long Bytes
    {
        get
        {
            lock (_gate)
            {
                return _bytes;
            }
        }
    }

    /// <summary>Takes a place.</summary>
    /// <param name="name">The name to wait for.</param>
    /// <param name="owner">The owner whose session under that name is waited for; null for any owner.</param>
    /// <param name="address">The visitor's address.</param>
    /// <param name="deadline">When the wait ends, as a timestamp of the lot's clock.</param>
    /// <param name="bytes">What the request may hold while it waits.</param>
    /// <returns>The place, or null when there is none: too many wait, or ProxyEntry is stopping.</returns>
    public ParkedRequest? TryEnter(string name, AgentIdentity? owner, AddressKey address, long deadline, long bytes)
    {
        ParkedRequest place;
        ParkedRequest? gaveWay = null;
        lock (_gate)
        {
            _waiting.TryGetValue(name, out var list);
            if (_closed || (list?.Count ?? 0) >= _maxPerName)
            {
                return null;
            }

            if (!HasRoomUnsynchronized(bytes, null))
            {
                gaveWay = FindOfAddressesUnsynchronized(address, bytes) ?? FindOfNamesUnsynchronized(list, address, bytes);
                if (gaveWay is null)
                {
                    return null;
                }

                RemoveUnsynchronized(gaveWay);
            }

            place = new ParkedRequest(this, name, owner, address, deadline, bytes);
            if (list is null)
            {
                _waiting.Add(name, list = []);
            }

            list.Add(place);
            if (!_addresses.TryGetValue(address, out var others))
            {
                _addresses.Add(address, others = []);
            }

            place.OfAddress = others.AddLast(place);
            _bytes += bytes;
            if (_count++ == 0)
            {
                _timer.Change(SweepPeriod, SweepPeriod);
            }
        }

        gaveWay?.Complete(ParkOutcome.GaveWay);
        return place;
    }

    /// <summary>
    /// A name was registered: the requests that wait for it continue, in the order in which they came. Those that wait for another owner's
    /// session continue to wait, because a request for one service, with its cookies, must not reach another. Those that wait for a domain
    /// below a wildcard look again: after a start it was not known that the wildcard would serve it.
    /// </summary>
    public void Release(string name, AgentIdentity owner)
    {
        var released = new List<ParkedRequest>();
        lock (_gate)
        {
            if (_waiting.TryGetValue(name, out var list))
            {
                ReleaseUnsynchronized(name, list, owner, released);
            }

            if (DomainName.IsWildcard(name))
            {
                foreach (var (domain, below) in _waiting)
                {
                    if (DomainName.IsCoveredBy(domain, name))
                    {
                        ReleaseUnsynchronized(domain, below, owner, released);
                    }
                }
            }
        }

        CompleteAll(released, ParkOutcome.Returned);
    }

    /// <summary>Ends the last waits of the name that has most, because the places of their visitors are needed.</summary>
    /// <param name="kept">How many of them are left in any case.</param>
    /// <param name="most">How many at most.</param>
    /// <returns>How many.</returns>
    public int EndOfLargest(int kept, int most)
    {
        List<ParkedRequest> ended;
        lock (_gate)
        {
            var largest = _waiting.Values.MaxBy(static list => list.Count);
            ended = largest is null ? [] : [.. largest.TakeLast(Math.Min(most, largest.Count - kept))];
            ended.ForEach(RemoveUnsynchronized);
        }

        CompleteAll(ended, ParkOutcome.GaveWay);
        return ended.Count;
    }

    /// <summary>ProxyEntry is stopping: all waits end.</summary>
    public void Close()
    {
        List<ParkedRequest> released;
        lock (_gate)
        {
            _closed = true;
            released = [.. _waiting.Values.SelectMany(static list => list)];
            _waiting.Clear();
            foreach (var place in released)
            {
                FreeUnsynchronized(place);
            }
        }

        CompleteAll(released, ParkOutcome.Closed);
    }

    public void Dispose() => _timer.Dispose();

    /// <summary>Frees a place; only the first call has an effect.</summary>
    internal void Remove(ParkedRequest place)
    {
        lock (_gate)
        {
            if (place.IsIn)
            {
                RemoveUnsynchronized(place);
            }
        }
    }

    /// <summary>Whether there is room for a request, once another one has given up its place.</summary>
    private bool HasRoomUnsynchronized(long bytes, ParkedRequest? without) =>
        _count - (without is null ? 0 : 1) < _maxTotal && _bytes - (without?.Bytes ?? 0) + bytes <= _maxBytes;

    /// <summary>The last request of the address that has most of what is short, places or bytes.</summary>
    /// <param name="own">The newcomer's address.</param>
    /// <param name="bytes">What the newcomer may hold.</param>
    /// <returns>Null: no address would still have as much as the newcomer's then.</returns>
    private ParkedRequest? FindOfAddressesUnsynchronized(AddressKey own, long bytes)
    {
        var lacksBytes = _bytes + bytes > _maxBytes;
        var (largest, most) = Largest(_addresses.Values, lacksBytes);
        var wanted = WeightOfAddressUnsynchronized(own, lacksBytes) + (lacksBytes ? bytes : 1);
        var last = largest?.Last;
        while (last is not null && !HasRoomUnsynchronized(bytes, last.Value))
        {
            last = last.Previous;
        }

        return last is not null && most - (lacksBytes ? last.Value.Bytes : 1) >= wanted ? last.Value : null;
    }

    /// <summary>
    /// The last request of the name that has most of what is short, places or bytes. So a few names, or a few long uploads, do not take
    /// everything.
    /// </summary>
    /// <param name="own">The requests of the newcomer's name; null: there are none.</param>
    /// <param name="address">The newcomer's address.</param>
    /// <param name="bytes">What the newcomer may hold.</param>
    /// <returns>Null: no name would still have as much as the newcomer's then.</returns>
    private ParkedRequest? FindOfNamesUnsynchronized(List<ParkedRequest>? own, AddressKey address, long bytes)
    {
        var lacksBytes = _bytes + bytes > _maxBytes;
        var (largest, most) = Largest(_waiting.Values, lacksBytes);
        var isModest = WeightOfAddressUnsynchronized(address, lacksBytes) <= (lacksBytes ? _maxBytes : _maxTotal) / ModestShare;
        var wanted = (own is null ? 0 : Weight(own, lacksBytes)) + (lacksBytes ? bytes : 1);
        var last = largest?.FindLast(place => HasRoomUnsynchronized(bytes, place) && (isModest || place.Address == address));
        return last is not null && most - (lacksBytes ? last.Bytes : 1) >= wanted ? last : null;
    }

    private long WeightOfAddressUnsynchronized(AddressKey address, bool ofBytes) =>
        _addresses.TryGetValue(address, out var list) ? Weight(list, ofBytes) : 0;

    private static (TList? List, long Weight) Largest<TList>(IEnumerable<TList> lists, bool ofBytes)
        where TList : class, IReadOnlyCollection<ParkedRequest>
    {
        TList? largest = null;
        var most = 0L;
        foreach (var list in lists)
        {
            if (Weight(list, ofBytes) is var weight && weight > most)
            {
                (largest, most) = (list, weight);
            }
        }

        return (largest, most);
    }

    private static long Weight(IReadOnlyCollection<ParkedRequest> places, bool ofBytes)
    {
        if (!ofBytes)
        {
            return places.Count;
        }

        var sum = 0L;
        foreach (var place in places)
        {
            sum += place.Bytes;
        }

        return sum;
    }

    /// <summary>Frees the places of a name that wait for an owner's session. May run during an enumeration of the names.</summary>
    private void ReleaseUnsynchronized(string name, List<ParkedRequest> list, AgentIdentity owner, List<ParkedRequest> released)
    {
        foreach (var place in list)
        {
            if (place.Owner is not { } wanted || wanted == owner)
            {
                released.Add(place);
                FreeUnsynchronized(place);
            }
        }

        list.RemoveAll(static place => !place.IsIn);
        if (list.Count == 0)
        {
            _waiting.Remove(name);
        }
    }

    private void RemoveUnsynchronized(ParkedRequest place)
    {
        var list = _waiting[place.Name];
        list.Remove(place);
        if (list.Count == 0)
        {
            _waiting.Remove(place.Name);
        }

        FreeUnsynchronized(place);
    }

    private void OnTimer() => _faults.Run("waiting requests", static self => self.Sweep(), this);

    private void Sweep()
    {
        List<ParkedRequest>? late = null;
        lock (_gate)
        {
            var now = _timeProvider.GetTimestamp();
            foreach (var (name, list) in _waiting)
            {
                var before = late?.Count ?? 0;
                foreach (var place in list)
                {
                    if (place.Deadline <= now)
                    {
                        (late ??= []).Add(place);
                    }
                }

                if (late is null || late.Count == before)
                {
                    continue;
                }

                for (var i = before; i < late.Count; i++)
                {
                    FreeUnsynchronized(late[i]);
                }

                list.RemoveAll(static place => !place.IsIn);
                if (list.Count == 0)
                {
                    // Removed during the enumeration, which a dictionary allows.
                    _waiting.Remove(name);
                }
            }
        }

        if (late is not null)
        {
            CompleteAll(late, ParkOutcome.TimedOut);
        }
    }

    private void FreeUnsynchronized(ParkedRequest place)
    {
        place.IsIn = false;
        var ofAddress = place.OfAddress!.List!;
        ofAddress.Remove(place.OfAddress);
        if (ofAddress.Count == 0)
        {
            _addresses.Remove(place.Address);
        }

        _bytes -= place.Bytes;
        if (--_count == 0)
        {
            _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        }
    }

    private static void CompleteAll(List<ParkedRequest> places, ParkOutcome outcome)
    {
        foreach (var place in places)
        {
            place.Complete(outcome);
        }
    }
}
