using System.Net;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// How many connections of a kind may be open. Above the total, new connections wait in the kernel until one ends. Above the limit of one
/// address (IPv6: /64), new ones are closed at once, so that one address never holds up the others. Thread-safe.
/// </summary>
internal sealed class ConnectionLimit : IAcceptGate
{
    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, int> _byAddress = [];
    private readonly List<Action> _waiting = [];
    private readonly TrustedProxySet? _exempt;
    private readonly bool _leavesRoom;
    private volatile int _count;
    private volatile int _most;
    private volatile int _mostPerAddress;

    /// <param name="kind">The kind of connections, as metrics and logs call it.</param>
    /// <param name="most">How many at once, at most.</param>
    /// <param name="mostPerAddress">
    /// How many from one address, at most; no limit per address when it is not below <paramref name="most"/>.
    /// </param>
    /// <param name="exempt">Addresses without a limit: proxies, because one address carries many visitors there.</param>
    /// <param name="leavesRoom">
    /// Whether an address gets a place only while it has fewer than are free. One address then has half of all at most, and any number of
    /// them leaves as much to the next as each of them has.
    /// </param>
    public ConnectionLimit(string kind, int most, int mostPerAddress, TrustedProxySet? exempt = null, bool leavesRoom = false)
    {
        _leavesRoom = leavesRoom;
        Kind = kind;
        _most = most;
        _mostPerAddress = mostPerAddress;
        _exempt = exempt;
    }

    /// <summary>The kind of connections.</summary>
    public string Kind { get; }

    /// <summary>How many at once, at most.</summary>
    public int Most => _most;

    /// <summary>How many from one address, at most.</summary>
    public int MostPerAddress => _mostPerAddress;

    /// <summary>Connections that are open now.</summary>
    public int Count => _count;

    /// <summary>Called when a connection has to wait, from any thread. Must not block.</summary>
    public Action? Full { get; set; }

    /// <summary>Called with an address that has reached its limit, from any thread. Must not block.</summary>
    public Action<IPAddress>? AddressFull { get; set; }

    /// <inheritdoc/>
    public bool IsOpen => _count < _most;

    /// <summary>Whether a connection waits.</summary>
    public bool HasWaiting
    {
        get
        {
            lock (_gate)
            {
                return _waiting.Count > 0;
            }
        }
    }

    /// <summary>Changes the limits; connections above them stay open.</summary>
    public void Set(int most, int mostPerAddress)
    {
        Action[] resumed;
        lock (_gate)
        {
            _most = most;
            _mostPerAddress = mostPerAddress;
            resumed = TakeWaitingUnsynchronized();
        }

        Array.ForEach(resumed, static resume => resume());
    }

    /// <summary>Counts an accepted connection. The total is not checked here: the gate before the accept does that.</summary>
    /// <returns>False when its address has reached its limit: close the connection.</returns>
    public bool TryEnter(IPAddress? address, out ConnectionPlace place)
    {
        place = default;
        var counts = CountsByAddress(address);
        var key = counts ? AddressKey.Of(address!) : default;
        lock (_gate)
        {
            var here = counts ? _byAddress.GetValueOrDefault(key) : -1;
            if (here < (_leavesRoom ? Math.Min(_mostPerAddress, _most - _count) : _mostPerAddress))
            {
                if (counts)
                {
                    _byAddress[key] = here + 1;
                }

                _count++;
                place = new ConnectionPlace(key, counts);
                return true;
            }
        }

        AddressFull?.Invoke(address!);
        return false;
    }

    /// <summary>Whether an address has reached its limit. One that has nothing may wait for a place, where none is free.</summary>
    public bool IsAddressFull(IPAddress? address)
    {
        if (!CountsByAddress(address))
        {
            return false;
        }

        lock (_gate)
        {
            var here = _byAddress.GetValueOrDefault(AddressKey.Of(address!));
            return here >= (_leavesRoom && here > 0 ? Math.Min(_mostPerAddress, _most - _count) : _mostPerAddress);
        }
    }

    /// <summary>A connection is over and its descriptor is closed.</summary>
    public void Leave(ConnectionPlace place)
    {
        Action[] resumed;
        lock (_gate)
        {
            _count--;
            if (place.IsCounted)
            {
                var left = _byAddress[place.Address] - 1;
                if (left == 0)
                {
                    _byAddress.Remove(place.Address);
                }
                else
                {
                    _byAddress[place.Address] = left;
                }
            }

            if (_waiting.Count == 0)
            {
                return;
            }

            resumed = TakeWaitingUnsynchronized();
        }

        Array.ForEach(resumed, static resume => resume());
    }

    /// <inheritdoc/>
    public void WhenOpen(Action resume)
    {
        bool isOpen;
        lock (_gate)
        {
            isOpen = IsOpen;
            if (!isOpen)
            {
                _waiting.Add(resume);
            }
        }

        if (isOpen)
        {
            resume();
        }
        else
        {
            Full?.Invoke();
        }
    }

    private bool CountsByAddress(IPAddress? address) =>
        address is not null && _mostPerAddress < _most && _exempt?.Contains(address) != true;

    private Action[] TakeWaitingUnsynchronized()
    {
        if (!IsOpen || _waiting.Count == 0)
        {
            return [];
        }

        Action[] resumed = [.. _waiting];
        _waiting.Clear();
        return resumed;
    }
}
