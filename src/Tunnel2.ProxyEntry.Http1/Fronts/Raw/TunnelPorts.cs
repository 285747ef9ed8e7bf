using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>The public listeners of sessions that do not carry HTTP: ports of TCP and of UDP, and TLS by name. Thread-safe.</summary>
internal sealed class TunnelPorts : ITunnelPorts, IDisposable
{
    /// <summary>Bytes that the datagrams of all ports may take while they wait.</summary>
    private const long MostDatagrams = 128 * 1024 * 1024;

    private readonly DatagramMemory _datagrams = new(MostDatagrams);
    private readonly ProxyEntrySettings _settings;
    private readonly SniFront _sni;
    private readonly IEngine _engine;
    private readonly ConnectionLimits _limits;
    private readonly ConnectionTracker _visitors;
    private readonly BalancerHeaders _balancers;
    private readonly TimeProvider _timeProvider;
    private readonly IForeignTunnels? _foreign;
    private readonly PortTable _tcp;
    private readonly PortTable _udp;
    private RawListener? _tls;
    private long _dropped;

    public TunnelPorts(
        ProxyEntrySettings settings,
        RawFront front,
        SniFront sni,
        IEngine engine,
        ConnectionLimits limits,
        ListenerConnections connections,
        BalancerHeaders balancers,
        IMeterFactory meters,
        ContainedFaults faults,
        TimeProvider timeProvider,
        ILogger<TunnelPorts> logger,
        IForeignTunnels? foreign = null)
    {
        _foreign = foreign;
        _settings = settings;
        _sni = sni;
        _engine = engine;
        _limits = limits;
        _visitors = connections.Visitors;
        _balancers = balancers;
        _timeProvider = timeProvider;
        _tcp = new PortTable(
            SessionKind.Tcp,
            settings.Tcp.Ports,
            settings.Tcp.Listen,
            settings,
            (port, endPoint) => RawListener.Start(
                endPoint, engine, limits, _visitors, balancers, (_, transport) => front.ServeAsync(transport, port.Target), timeProvider),
            RawListener.Descriptors(engine),
            limits.Visitors,
            faults,
            timeProvider,
            logger);
        _udp = new PortTable(
            SessionKind.Udp,
            settings.Udp.Ports,
            settings.Udp.Listen,
            settings,
            (port, endPoint) => DatagramListener.Start(
                endPoint, transport => front.ServeAsync(transport, port.Target), _datagrams, OnDropped, faults, timeProvider),
            descriptors: 1,
            limits.Visitors,
            faults,
            timeProvider,
            logger);
        if (foreign is not null)
        {
            foreign.Changed += () =>
            {
                _tcp.Mirror(foreign.Ports);
                _udp.Mirror(foreign.Ports);
            };
        }

        var meter = meters.Create(ProxyEntryMetrics.MeterName);
        meter.CreateObservableUpDownCounter(
            "tunnel2.entry.tunnel.ports",
            Observe,
            "{port}",
            "Ports of tunnels of TCP and UDP that a session has, and those that are kept for an agent that has left.");
        meter.CreateObservableCounter(
            "tunnel2.entry.datagrams.dropped",
            () => Volatile.Read(ref _dropped),
            "{datagram}",
            "Datagrams of visitors that were dropped, because the agent took no more or there were too many visitors.");
    }

    /// <inheritdoc/>
    public string? FindObstacle(SessionKind kind) => kind switch
    {
        SessionKind.Tcp => _settings.Tcp.Ports is null ? "This server gives no ports to tunnels of TCP (Tcp:Ports is off)." : null,
        SessionKind.Udp => _settings.Udp.Ports is null ? "This server gives no ports to tunnels of UDP (Udp:Ports is off)." : null,
        SessionKind.Tls => _settings.HttpsListen is null && _settings.TlsListen is null
            ? "This server has no listener for TLS by name (Tls:Listen and Public:HttpsListen are off)."
            : null,
        _ => "This server does not know this kind of tunnel; it may be older than the agent.",
    };

    /// <inheritdoc/>
    public async ValueTask<TunnelPort> TakeAsync(
        SessionKind kind, string name, AgentIdentity owner, int wanted, bool takesAnother, CancellationToken cancellationToken)
    {
        var table = kind == SessionKind.Udp ? _udp : _tcp;
        var others = new HashSet<int>();
        string? undecided = null;
        while (true)
        {
            var port = table.Take(name, owner, wanted, takesAnother, others);
            if (_foreign is null || port.Lease is not { } lease)
            {
                return port;
            }

            var mayHave = false;
            try
            {
                mayHave = undecided is null
                    ? await _foreign.MayHaveAsync(kind, lease.Port, name, cancellationToken).ConfigureAwait(false)
                    : port.IsKnown;
            }
            catch (SharedUnavailableException exception)
            {
                // What the name has already other nodes do not give to another name.
                (undecided, mayHave) = (exception.Reason, port.IsKnown);
            }
            finally
            {
                if (!mayHave)
                {
                    lease.Dispose();
                }
            }

            if (mayHave)
            {
                return port;
            }

            if (undecided is not null && (!takesAnother || lease.Port != wanted))
            {
                return PortTable.RefuseUndecided(lease.Port, undecided);
            }

            others.Add(lease.Port);
            if (others.Count == PortTable.MostAttempts || !takesAnother)
            {
                return PortTable.RefuseOfAnotherNode(lease.Port);
            }
        }
    }

    /// <summary>Listens for visitors of TLS by name, if the settings have an address for them.</summary>
    /// <returns>Where; null if they have none.</returns>
    /// <exception cref="SocketException">The address is not available.</exception>
    public IPEndPoint? ListenForTls()
    {
        if (_settings.TlsListen is not { } endPoint)
        {
            return null;
        }

        _tls = RawListener.Start(
            endPoint, _engine, _limits, _visitors, _balancers, (_, transport) => _sni.ServeAloneAsync(transport), _timeProvider);
        return _tls.EndPoint;
    }

    /// <summary>Closes all listeners. Connections stay; associations of datagrams end.</summary>
    public void StopAccepting()
    {
        _tcp.StopAccepting();
        _udp.StopAccepting();
        _tls?.Dispose();
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _tcp.Dispose();
        _udp.Dispose();
        _tls?.Dispose();
        _datagrams.Dispose();
    }

    private void OnDropped() => Interlocked.Increment(ref _dropped);

    private IEnumerable<Measurement<long>> Observe() => [.. Measure("tcp", _tcp), .. Measure("udp", _udp)];

    private static IEnumerable<Measurement<long>> Measure(string kind, PortTable table)
    {
        var (used, all) = table.Counts;
        var tag = new KeyValuePair<string, object?>("kind", kind);
        yield return new Measurement<long>(used, tag, new KeyValuePair<string, object?>("state", "open"));
        yield return new Measurement<long>(all - used, tag, new KeyValuePair<string, object?>("state", "kept"));
    }
}
