using System.Net;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The guard's answer.</summary>
internal enum Admission
{
    /// <summary>Admitted; <see cref="AdmissionGuard.Release"/> must follow exactly once.</summary>
    Admitted = 0,

    /// <summary>The limit of connections is reached.</summary>
    Full,

    /// <summary>The container's memory is short.</summary>
    Memory,

    /// <summary>The container's processors are busy.</summary>
    Cpu,

    /// <summary>Too many connections a second from this address.</summary>
    AddressRate,
}

/// <summary>
/// Decides who may connect to the hub, before the connection costs anything. Memory and processor use are those of the container, smoothed.
/// The limits for closing and for opening again differ, so that the answer does not flutter. Safe on any thread.
/// </summary>
internal sealed class AdmissionGuard
{
    /// <summary>Above this use new connections are refused.</summary>
    internal const double RejectAbove = 0.75;

    /// <summary>After that, new connections are admitted again at this use or less.</summary>
    internal const double AcceptBelow = 0.65;

    private const double Smoothing = 0.3;
    private const int MostAddresses = 10_000;

    private readonly Lock _gate = new();
    private readonly Dictionary<IPAddress, (double Tokens, long At)> _addresses = [];
    private volatile int _maxConnections;
    private readonly int _perAddress;
    private readonly TimeProvider _time;
    private int _connections;
    private double _memory;
    private double _cpu;
    private bool _memoryShort;
    private bool _cpuBusy;

    /// <param name="maxConnections">How many connections at a time.</param>
    /// <param name="perAddress">Connections a second from one address, in bursts of twice as many.</param>
    /// <param name="time">The clock.</param>
    internal AdmissionGuard(int maxConnections, int perAddress, TimeProvider time)
    {
        _maxConnections = maxConnections;
        _perAddress = perAddress;
        _time = time;
    }

    /// <summary>How many connections at a time. A lower value does not end connections.</summary>
    internal int MaxConnections
    {
        get => _maxConnections;
        set => _maxConnections = value;
    }

    /// <summary>Connections now.</summary>
    internal int Connections
    {
        get
        {
            lock (_gate)
            {
                return _connections;
            }
        }
    }

    /// <summary>Adds a reading; about once a second.</summary>
    internal void Observe(ContainerReading reading)
    {
        lock (_gate)
        {
            _memory += Smoothing * (reading.Memory - _memory);
            _cpu += Smoothing * (reading.Cpu - _cpu);
            _memoryShort = _memory > (_memoryShort ? AcceptBelow : RejectAbove);
            _cpuBusy = _cpu > (_cpuBusy ? AcceptBelow : RejectAbove);
        }
    }

    /// <summary>Decides about a connection from this address.</summary>
    internal Admission TryAdmit(IPAddress address)
    {
        lock (_gate)
        {
            if (_connections >= _maxConnections)
            {
                return Admission.Full;
            }

            if (_memoryShort || _cpuBusy)
            {
                return _memoryShort ? Admission.Memory : Admission.Cpu;
            }

            if (!TryTakeUnsynchronized(address))
            {
                return Admission.AddressRate;
            }

            _connections++;
            return Admission.Admitted;
        }
    }

    /// <summary>An admitted connection is over.</summary>
    internal void Release()
    {
        lock (_gate)
        {
            _connections--;
        }
    }

    private bool TryTakeUnsynchronized(IPAddress address)
    {
        long now = _time.GetTimestamp();
        double burst = 2.0 * _perAddress;
        double tokens = burst;
        if (_addresses.TryGetValue(address, out (double Tokens, long At) bucket))
        {
            tokens = Math.Min(burst, bucket.Tokens + (_time.GetElapsedTime(bucket.At, now).TotalSeconds * _perAddress));
        }
        else if (_addresses.Count >= MostAddresses)
        {
            // After two seconds an address has a full bucket again, as an unknown address has.
            foreach ((IPAddress known, (_, long at)) in _addresses)
            {
                if (_time.GetElapsedTime(at, now).TotalSeconds >= 2)
                {
                    _addresses.Remove(known);
                }
            }

            if (_addresses.Count >= MostAddresses)
            {
                return false;
            }
        }

        bool taken = tokens >= 1;
        _addresses[address] = (taken ? tokens - 1 : tokens, now);
        return taken;
    }
}
