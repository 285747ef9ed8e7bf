using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Inspection.Capture;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>What all exchanges of an agent share. Thread-safe.</summary>
internal sealed class ExchangeContext : IDisposable
{
    private int _active;
    private long _refused;
    private long _shortages;

    public ExchangeContext(
        AgentOptions options,
        IAgentEvents events,
        TimeProvider timeProvider,
        EpollLoop? loop = null,
        TunnelSlots? slots = null,
        ContainedFaults? faults = null,
        BufferPool? buffers = null)
    {
        Buffers = buffers ?? BufferPool.Shared;
        Events = events;
        TimeProvider = timeProvider;
        MaxActive = options.MaxStreams;
        Service = new BackendService(options, null, events, timeProvider, loop, slots, faults, Buffers);
        Service.Connector.OnShortage = OnShortage;
        if (options.Routes.Count > 0)
        {
            Routes = new RouteMap(options.Routes);
            Routed =
            [
                .. options.Routes.Select(route => new BackendService(
                    options, route, events, timeProvider, loop, Service.Connector.Slots, faults, Buffers)),
            ];
            Service.Backends.Idle.Others = [.. Routed.Select(static service => service.Backends.Idle)];
            foreach (var service in Routed)
            {
                service.Connector.OnShortage = OnShortage;
            }
        }
    }

    public IAgentEvents Events { get; }

    public TimeProvider TimeProvider { get; }

    /// <summary>The tunnel's own service, to which everything goes that no route is for.</summary>
    public BackendService Service { get; }

    /// <summary>Finds the route of a request; null: there are none.</summary>
    public RouteMap? Routes { get; }

    /// <summary>The services of the routes, in their order.</summary>
    public IReadOnlyList<BackendService> Routed { get; } = [];

    public BackendConnector Connector => Service.Connector;

    public BackendPool Backends => Service.Backends;

    public RequestHeadEncoder RequestHeads => Service.RequestHeads;

    public BufferPool Buffers { get; }

    /// <summary>Keeps the last exchanges; null where no user looks at them.</summary>
    public ExchangeStore? Inspected { get; init; }

    /// <summary>Places for bodies that are read ahead of their visitors' credit.</summary>
    public ReadAhead ReadAhead { get; init; } = new();

    /// <summary>Exchanges under way.</summary>
    public int Active => Volatile.Read(ref _active);

    /// <summary>How many there may be.</summary>
    public int MaxActive { get; }

    /// <summary>Requests that were refused because there were as many.</summary>
    public long Refused => Volatile.Read(ref _refused);

    /// <summary>Requests that had to wait for a connection to the backend, or found no descriptor left.</summary>
    public long Shortages => Volatile.Read(ref _shortages);

    /// <summary>The exchanges of an uplink.</summary>
    public UplinkExchanges On(IUplinkTransport uplink) => new(this, uplink.Home as EpollLoop);

    /// <summary>How long an attempt to reach a service may take.</summary>
    public void SetConnectTimeout(TimeSpan timeout)
    {
        Service.Connector.Timeout = timeout;
        foreach (var service in Routed)
        {
            service.Connector.Timeout = timeout;
        }
    }

    /// <summary>An exchange begins.</summary>
    public void Begin() => Interlocked.Increment(ref _active);

    /// <summary>Whether a request that has begun is one too many; it is counted as refused then.</summary>
    public bool IsOneTooMany()
    {
        if (Active <= MaxActive)
        {
            return false;
        }

        Interlocked.Increment(ref _refused);
        return true;
    }

    /// <summary>An exchange is over.</summary>
    public void End() => Interlocked.Decrement(ref _active);

    public void Dispose()
    {
        Service.Dispose();
        foreach (var service in Routed)
        {
            service.Dispose();
        }
    }

    private void OnShortage(StreamResetDetail detail)
    {
        Interlocked.Increment(ref _shortages);
        var slots = Connector.Slots.All;
        if (slots.MayReportShort(detail))
        {
            Events.BackendConnectionsShort(slots.Limit, slots.Waiting, BackendWords.Shortage(detail, slots));
        }
    }
}
