using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>The requests that came on one link of another node, and the pool of their objects. Thread-safe.</summary>
internal sealed class NodeExchanges
{
    private const int MaxPooled = 1024;

    private readonly ShortLock _gate = new();
    private readonly Stack<NodeExchange> _pool = new();
    private readonly ProxyEntrySettings _settings;
    private readonly ISessionDirectory _directory;
    private readonly NodeLinkMetrics _metrics;
    private readonly IForwarder _forwarder;
    private readonly INodeFeeds? _feeds;
    private readonly INodeCalls? _calls;
    private readonly Func<string> _node;
    private readonly string _peer;

    /// <param name="settings">Domain and limits.</param>
    /// <param name="node">Names this node.</param>
    /// <param name="directory">The sessions of this node.</param>
    /// <param name="metrics">Counts them.</param>
    /// <param name="forwarder">Serves them.</param>
    /// <param name="peer">The other node, as its certificate says.</param>
    /// <param name="feeds">Serves the live view of the node itself; null: it has none.</param>
    /// <param name="calls">Serves calls of its API; null: it has none.</param>
    public NodeExchanges(
        ProxyEntrySettings settings, Func<string> node, ISessionDirectory directory, NodeLinkMetrics metrics, IForwarder forwarder,
        string peer, INodeFeeds? feeds, INodeCalls? calls)
    {
        _node = node;
        _peer = peer;
        _calls = calls;
        _feeds = feeds;
        _settings = settings;
        _directory = directory;
        _metrics = metrics;
        _forwarder = forwarder;
    }

    /// <summary>Serves a stream that another node has opened; returns at its first wait.</summary>
    public void Serve(TunnelStream stream)
    {
        NodeExchange? exchange;
        using (_gate.EnterScope())
        {
            _pool.TryPop(out exchange);
        }

        exchange ??= new NodeExchange(_settings, _node, _peer, Return);
        if (!exchange.TryBegin(stream))
        {
            stream.Reset(StreamResetReason.Internal);
            stream.Release();
            Return(exchange);
            return;
        }

        if (_feeds is not null && NodeFeed.IsMeant(exchange.Name))
        {
            exchange.Start(_feeds);
            return;
        }

        if (_calls is not null && NodeCall.IsMeant(exchange.Name))
        {
            exchange.Start(_calls);
            return;
        }

        if (_directory.Find(exchange.Name, out _) != NameState.Online)
        {
            // Before anything of this node counts or logs a request that is not for it.
            _metrics.Refused();
            exchange.Refuse();
            return;
        }

        _metrics.Served();
        exchange.Start(_forwarder);
    }

    private void Return(NodeExchange exchange)
    {
        using (_gate.EnterScope())
        {
            if (_pool.Count < MaxPooled)
            {
                _pool.Push(exchange);
            }
        }
    }
}
