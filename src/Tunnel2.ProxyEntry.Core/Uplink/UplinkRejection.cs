using Tunnel2.Multiplexing.Transports;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>Sends a peer the reason why it is refused, in a way that lets the peer read it. Thread-safe.</summary>
internal sealed class UplinkRejection
{
    private readonly ProxyEntryMetrics _metrics;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public UplinkRejection(ProxyEntryMetrics metrics, TimeProvider timeProvider, ILogger<UplinkRejection> logger)
    {
        _metrics = metrics;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>Sends a REJECT and the connection's orderly end.</summary>
    /// <exception cref="IOException">The connection failed.</exception>
    public async Task SendAsync(IUplinkTransport transport, RejectMessage reject)
    {
        ProxyEntryLog.AgentRejected(_logger, transport.RemoteName, reject.Code.ToString(), reject.Text);
        _metrics.SessionRejected(reject.Code.ToString());
        await SendQuietlyAsync(transport, reject).ConfigureAwait(false);
    }

    /// <summary>The same without a log line and metric, which the caller writes.</summary>
    /// <exception cref="IOException">The connection failed.</exception>
    public async Task SendQuietlyAsync(IUplinkTransport transport, RejectMessage reject)
    {
        await transport.SendAsync(reject.ToFrame()).ConfigureAwait(false);
        transport.ShutdownSend();

        // A close at once could destroy what was just sent, if the peer has sent bytes that were not read. So the peer gets a moment to
        // read.
        await Lingering.DropAsync(transport, _timeProvider).ConfigureAwait(false);
    }
}
