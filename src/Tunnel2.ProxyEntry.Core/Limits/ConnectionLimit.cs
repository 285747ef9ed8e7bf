using System.Net;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// How many connections of a kind may be open. In all: whoever comes beyond waits, in the kernel, until one ends. From one address (IPv6:
/// /64): whoever comes beyond is closed at once, so that one address never holds up the others. Thread-safe.
/// </summary>
internal sealed class ConnectionLimit : IAcceptGate
{
    private readonly Lock _gate = new();
    private readonly Dictionary<AddressKey, int> _byAddress = [];
    private readonly List<Action> _waiting = [];
    private readonly TrustedProxySet? _exempt;
    private volatile int _count;
    private volatile int _most;
    private volatile int _mostPerAddress;

    /// <param name="kind">What the connections are, as metrics and logs call them.</param>
    /// <param name="most">The most at once.</param>
    /// <param name="mostPerAddress">The most from one address; no limit of its own from <paramref name="most"/> on.</param>
    /// <param name="exempt">Who may have any number of them: proxies, whose address stands for many visitors.</param>
    public ConnectionLimit(string kind, int most, int mostPerAddress, TrustedProxySet? exempt = null)
    {
        Kind = kind;
        _most = most;
        _mostPerAddress = mostPerAddress;
        _exempt = exempt;
    }

    /// <summary>What the connections are.</summary>
    public string Kind { get; }

    /// <summary>The most at once.</summary>
    public int Most => _most;

    /// <summary>The most from one address.</summary>
    public int MostPerAddress => _mostPerAddress;

    /// <summary>Open now.</summary>
    public int Count => _count;

    /// <summary>Called when somebody has to wait, from any thread. Must not block.</summary>
    public Action? Full { get; set; }

    /// <summary>Called with an address that has too many, from any thread. Must not block.</summary>
    public Action<IPAddress>? AddressFull { get; set; }

    /// <inheritdoc/>
    public bool IsOpen => _count < _most;

    /// <summary>Whether somebody waits.</summary>
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

    /// <summary>Changes the limits; connections beyond them stay.</summary>
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

    /// <summary>Counts a connection that was accepted. The whole number is the gate's business.</summary>
    /// <returns>False: its address has too many, and it is to be closed.</returns>
    public bool TryEnter(IPAddress? address, out ConnectionPlace place)
    {
        place = default;
        var counts = CountsByAddress(address);
        var key = counts ? AddressKey.Of(address!) : default;
        lock (_gate)
        {
            var here = counts ? _byAddress.GetValueOrDefault(key) : -1;
            if (here < _mostPerAddress)
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

    /// <summary>Whether an address has as many as it may.</summary>
    public bool IsAddressFull(IPAddress? address)
    {
        if (!CountsByAddress(address))
        {
            return false;
        }

        lock (_gate)
        {
            return _byAddress.GetValueOrDefault(AddressKey.Of(address!)) >= _mostPerAddress;
        }
    }

    /// <summary>A connection is over, and its descriptor closed.</summary>
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
