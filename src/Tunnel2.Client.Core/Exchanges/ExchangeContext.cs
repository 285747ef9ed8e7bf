using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>What all exchanges of an agent share, and the pool of their objects. Thread-safe.</summary>
internal sealed class ExchangeContext : IDisposable
{
    private const int MaxPooled = 1024;

    private readonly ShortLock _poolGate = new();
    private readonly Stack<BackendExchange> _pool = new();
    private int _active;

    public ExchangeContext(
        AgentOptions options, IAgentEvents events, TimeProvider timeProvider, EpollLoop? loop = null, BackendSlots? slots = null, ContainedFaults? faults = null)
    {
        Events = events;
        TimeProvider = timeProvider;
        Connector = new BackendConnector(options.Upstream, Buffers, loop, slots);
        Connector.OnShortage = OnShortage;
        Backends = new BackendPool(Connector, timeProvider, options.TrustsBackend, faults)
        {
            OnSurplus = kind => events.BackendSurplus(options.Upstream, BackendWords.Surplus(options.Upstream, kind)),
        };
        MaxActive = options.MaxStreams;
        Misunderstandings = options.WatchesBackend ? new BackendMisunderstandings(options.Upstream, new BackendProbe(options.Upstream, Buffers, timeProvider), events) : null;
        RequestHeads = new RequestHeadEncoder(options.Upstream, options.HostHeader);
    }

    public IAgentEvents Events { get; }

    public TimeProvider TimeProvider { get; }

    public BackendConnector Connector { get; }

    public BackendPool Backends { get; }

    public RequestHeadEncoder RequestHeads { get; }

    /// <summary>Explains why a backend does not answer in HTTP; null where nobody looks after it.</summary>
    public BackendMisunderstandings? Misunderstandings { get; }

    public BufferPool Buffers { get; } = BufferPool.Shared;

    /// <summary>Exchanges under way.</summary>
    public int Active => Volatile.Read(ref _active);

    /// <summary>How many there may be.</summary>
    public int MaxActive { get; }

    /// <summary>Serves a stream that ProxyEntry opened; returns at its first wait.</summary>
    public void Serve(TunnelStream stream)
    {
        Interlocked.Increment(ref _active);
        BackendExchange? exchange;
        using (_poolGate.EnterScope())
        {
            _pool.TryPop(out exchange);
        }

        (exchange ?? new BackendExchange(this)).Start(stream);
    }

    public void Return(BackendExchange exchange)
    {
        Interlocked.Decrement(ref _active);
        using (_poolGate.EnterScope())
        {
            if (_pool.Count < MaxPooled)
            {
                _pool.Push(exchange);
            }
        }
    }

    public void Dispose() => Backends.Dispose();

    private void OnShortage(StreamResetDetail detail)
    {
        var slots = Connector.Slots;
        if (slots.MaySayShort())
        {
            Events.BackendConnectionsShort(slots.Limit, slots.Waiting, BackendWords.Shortage(detail, slots.Limit, slots.Waiting));
        }
    }
}
