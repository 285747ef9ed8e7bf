using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;

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

    /// <summary>The process has too many threads.</summary>
    Threads,

    /// <summary>Too many connections a second in all.</summary>
    Rate,

    /// <summary>Too many connections a second from this address.</summary>
    AddressRate,
}

/// <summary>
/// Decides who may connect to the hub, before the connection costs anything, and whether slow subscribers are paused. Memory and processor
/// use are those of the container, smoothed. The limits for closing and for opening again differ, so that the answer does not flutter. Safe
/// on any thread.
/// </summary>
internal sealed class AdmissionGuard
{
    private const int MostAddresses = 10_000;
    private const double ThreadsAgain = 0.9;

    private readonly Lock _gate = new();
    private readonly Dictionary<IPAddress, ConnectionRate> _addresses = [];
    private readonly AdmissionLimits _limits;
    private readonly TimeProvider _time;
    private readonly ResourcePressure _memory;
    private readonly ResourcePressure _cpu;
    private ConnectionRate _all;
    private volatile int _maxConnections;
    private int _connections;
    private bool _hasTooManyThreads;

    /// <param name="maxConnections">How many connections at a time.</param>
    /// <param name="limits">The other limits.</param>
    /// <param name="time">The clock.</param>
    internal AdmissionGuard(int maxConnections, AdmissionLimits limits, TimeProvider time)
    {
        _maxConnections = maxConnections;
        _limits = limits;
        _time = time;
        _memory = new ResourcePressure(limits.Memory, limits.Smoothing);
        _cpu = new ResourcePressure(limits.Cpu, limits.Smoothing);
        _all = ConnectionRate.Unused(limits.ConnectionsPerSecond, time.GetTimestamp());
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

    /// <summary>Whether slow subscribers are to be paused, because memory or processors are short.</summary>
    internal bool IsPausing
    {
        get
        {
            lock (_gate)
            {
                return _memory.Level != PressureLevel.Calm || _cpu.Level != PressureLevel.Calm;
            }
        }
    }

    /// <summary>The smoothed use that the guard acts on.</summary>
    internal (double Memory, double Cpu) Use
    {
        get
        {
            lock (_gate)
            {
                return (_memory.Use, _cpu.Use);
            }
        }
    }

    /// <summary>Shows the smoothed use as a metric.</summary>
    internal void AddMetrics(Meter meter) => meter.CreateObservableGauge(
        "tunnel2.hub.use",
        () =>
        {
            (double memory, double cpu) = Use;
            return new Measurement<double>[]
            {
                new(memory, new KeyValuePair<string, object?>("resource", "memory")),
                new(cpu, new KeyValuePair<string, object?>("resource", "cpu")),
            };
        },
        "1", "Smoothed use of the container's memory and processors, which the hub's limits act on.");

    /// <summary>Adds a reading; about once a second.</summary>
    internal void Observe(ContainerReading reading)
    {
        lock (_gate)
        {
            _memory.Observe(reading.Memory);
            _cpu.Observe(reading.Cpu);
            _hasTooManyThreads = reading.Threads > _limits.Threads * (_hasTooManyThreads ? ThreadsAgain : 1);
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

            if (_memory.Level == PressureLevel.Refusing || _cpu.Level == PressureLevel.Refusing)
            {
                return _memory.Level == PressureLevel.Refusing ? Admission.Memory : Admission.Cpu;
            }

            if (_hasTooManyThreads)
            {
                return Admission.Threads;
            }

            long now = _time.GetTimestamp();
            ConnectionRate all = _all.Refilled(_limits.ConnectionsPerSecond, _time, now);
            if (all.Tokens < 1)
            {
                return Admission.Rate;
            }

            if (!TryTakeUnsynchronized(CountedAs(address), now))
            {
                return Admission.AddressRate;
            }

            _all = all with { Tokens = all.Tokens - 1 };
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

    /// <summary>An IPv6 address counts as its /64, which usually belongs to one customer; a mapped IPv4 address as itself.</summary>
    private static IPAddress CountedAs(IPAddress address)
    {
        if (address.AddressFamily != AddressFamily.InterNetworkV6)
        {
            return address;
        }

        if (address.IsIPv4MappedToIPv6)
        {
            return address.MapToIPv4();
        }

        Span<byte> bytes = stackalloc byte[16];
        address.TryWriteBytes(bytes, out _);
        bytes[8..].Clear();
        return new IPAddress(bytes);
    }

    private bool TryTakeUnsynchronized(IPAddress address, long now)
    {
        int perSecond = _limits.ConnectionsPerAddress;
        ConnectionRate rate = ConnectionRate.Unused(perSecond, now);
        if (_addresses.TryGetValue(address, out ConnectionRate before))
        {
            rate = before.Refilled(perSecond, _time, now);
        }
        else if (_addresses.Count >= MostAddresses)
        {
            // After two seconds an address has a whole burst again, as an unknown address has.
            foreach ((IPAddress known, ConnectionRate at) in _addresses)
            {
                if (_time.GetElapsedTime(at.At, now).TotalSeconds >= 2)
                {
                    _addresses.Remove(known);
                }
            }

            if (_addresses.Count >= MostAddresses)
            {
                return false;
            }
        }

        bool taken = rate.Tokens >= 1;
        _addresses[address] = taken ? rate with { Tokens = rate.Tokens - 1 } : rate;
        return taken;
    }
}
