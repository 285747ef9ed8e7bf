using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
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
        BackendSlots? slots = null,
        ContainedFaults? faults = null,
        BufferPool? buffers = null)
    {
        Buffers = buffers ?? BufferPool.Shared;
        Events = events;
        TimeProvider = timeProvider;
        Connector = new BackendConnector(options.Upstream, Buffers, loop, slots, timeProvider);
        Connector.OnShortage = OnShortage;
        Backends = new BackendPool(Connector, timeProvider, options.TrustsBackend, faults)
        {
            OnSurplus = kind => events.BackendSurplus(options.Upstream, BackendWords.Surplus(options.Upstream, kind)),
        };
        MaxActive = options.MaxStreams;
        Misunderstandings = options.WatchesBackend
            ? new BackendMisunderstandings(options.Upstream, new BackendProbe(options.Upstream, Buffers, timeProvider), events)
            : null;
        RequestHeads = new RequestHeadEncoder(options.Upstream, options.HostHeader);
    }

    public IAgentEvents Events { get; }

    public TimeProvider TimeProvider { get; }

    public BackendConnector Connector { get; }

    public BackendPool Backends { get; }

    public RequestHeadEncoder RequestHeads { get; }

    /// <summary>Explains why a backend does not answer in HTTP; null where the agent does not watch it.</summary>
    public BackendMisunderstandings? Misunderstandings { get; }

    public BufferPool Buffers { get; }

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

    public void Dispose() => Backends.Dispose();

    private void OnShortage(StreamResetDetail detail)
    {
        Interlocked.Increment(ref _shortages);
        var slots = Connector.Slots;
        if (slots.MayReportShort())
        {
            Events.BackendConnectionsShort(slots.Limit, slots.Waiting, BackendWords.Shortage(detail, slots.Limit, slots.Waiting));
        }
    }
}
