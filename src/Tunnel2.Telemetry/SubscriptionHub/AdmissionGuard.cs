using System.Net;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The guard's answer.</summary>
internal enum Admission
{
    /// <summary>Come in; <see cref="AdmissionGuard.Release"/> must follow exactly once.</summary>
    Admitted = 0,

    /// <summary>There are as many connections as there may be.</summary>
    Full,

    /// <summary>The container's memory is short.</summary>
    Memory,

    /// <summary>The container's processors are busy.</summary>
    Cpu,

    /// <summary>Too many connections a second from this address.</summary>
    AddressRate,
}

/// <summary>
/// Says who may connect to the hub, before anything is spent on it. Memory and processors are those of the container, smoothed, and with
/// a distance between closing and opening again, so that the answer does not flutter. Safe on any thread.
/// </summary>
internal sealed class AdmissionGuard
{
    /// <summary>Above it newcomers are turned away …</summary>
    internal const double RejectAbove = 0.75;

    /// <summary>… until it has come down to this.</summary>
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

    /// <param name="maxConnections">Connections at the same time.</param>
    /// <param name="perAddress">Connections a second from one address, in bursts of twice as many.</param>
    /// <param name="time">The clock.</param>
    internal AdmissionGuard(int maxConnections, int perAddress, TimeProvider time)
    {
        _maxConnections = maxConnections;
        _perAddress = perAddress;
        _time = time;
    }

    /// <summary>Connections at the same time. Those that are in stay.</summary>
    internal int MaxConnections
    {
        get => _maxConnections;
        set => _maxConnections = value;
    }

    /// <summary>Connections that are in.</summary>
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

    /// <summary>Takes a reading into account; about once a second.</summary>
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

    /// <summary>Whether a connection from this address may come in.</summary>
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

    /// <summary>A connection that was admitted is over.</summary>
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
            // An address that waited two seconds has a full bucket, which is what an unknown address has.
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
