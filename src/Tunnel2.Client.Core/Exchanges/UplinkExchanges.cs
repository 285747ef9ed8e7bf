using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// The exchanges of one uplink, and the pool of their objects: all of them live on the uplink's event loop, with the backend's
/// connections that they use. Thread-safe, for where there are no loops.
/// </summary>
internal sealed class UplinkExchanges
{
    private const int MaxPooled = 1024;

    private readonly ShortLock _poolGate = new();
    private readonly Stack<BackendExchange> _pool = new();

    /// <summary>Makes the exchanges of an uplink.</summary>
    /// <param name="context">What they share with those of the agent's other uplinks.</param>
    /// <param name="loop">The uplink's loop; null: there are none.</param>
    public UplinkExchanges(ExchangeContext context, EpollLoop? loop)
    {
        Context = context;
        Loop = loop;
    }

    public ExchangeContext Context { get; }

    public EpollLoop? Loop { get; }

    /// <summary>Serves a stream that ProxyEntry opened; returns at its first wait.</summary>
    public void Serve(TunnelStream stream)
    {
        // Step 5: an exchange takes the stream.
        Context.Begin();
        BackendExchange? exchange;
        using (_poolGate.EnterScope())
        {
            _pool.TryPop(out exchange);
        }

        (exchange ?? new BackendExchange(this)).Start(stream);
    }

    public void Return(BackendExchange exchange)
    {
        Context.End();
        using (_poolGate.EnterScope())
        {
            if (_pool.Count < MaxPooled)
            {
                _pool.Push(exchange);
            }
        }
    }
}
