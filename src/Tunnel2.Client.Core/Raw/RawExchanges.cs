using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.ProxyHeaders;

namespace Tunnel2.Client.Core.Raw;

/// <summary>The connections of one uplink in a tunnel without HTTP. Thread-safe.</summary>
/// <param name="context">What they share with those of the agent's other uplinks.</param>
/// <param name="loop">The uplink's loop; null where there are none.</param>
/// <param name="options">The tunnel.</param>
internal sealed class RawExchanges(ExchangeContext context, EpollLoop? loop, AgentOptions options)
{
    /// <summary>The scheme of the tunnel's connections on an uplink.</summary>
    private readonly byte[] _scheme = options.Kind switch
    {
        SessionKind.Tcp => "tcp"u8.ToArray(),
        SessionKind.Udp => "udp"u8.ToArray(),
        _ => "tls"u8.ToArray(),
    };

    /// <summary>The service of datagrams; null for a tunnel of connections.</summary>
    private readonly DatagramTarget? _datagrams = options.Kind == SessionKind.Udp ? new DatagramTarget(options.Upstream) : null;

    public ExchangeContext Context => context;

    public EpollLoop? Loop => loop;

    /// <summary>The header that the service gets first.</summary>
    public ProxyHeaderVersion Header { get; } = (ProxyHeaderVersion)options.ProxyProtocol;

    /// <summary>Whether a block's scheme is the tunnel's.</summary>
    public bool IsOwn(ReadOnlySpan<byte> scheme) => scheme.SequenceEqual(_scheme);

    /// <summary>Serves a stream that ProxyEntry opened; returns at its first wait.</summary>
    public void Serve(TunnelStream stream)
    {
        context.Begin();
        _ = _datagrams is { } target
            ? new DatagramExchange(this, stream, target).RunAsync()
            : new RawExchange(this, stream).RunAsync();
    }
}
