using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>Tells a peer why it is refused, so that it gets to read it. Thread-safe.</summary>
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

    /// <summary>The same without a word in log and metrics: those are the caller's.</summary>
    /// <exception cref="IOException">The connection failed.</exception>
    public async Task SendQuietlyAsync(IUplinkTransport transport, RejectMessage reject)
    {
        await transport.SendAsync(reject.ToFrame()).ConfigureAwait(false);
        transport.ShutdownSend();

        // Closing at once could destroy what was just sent, where the peer has sent more than we read: let it read first, for a moment.
        await LingerAsync(transport).ConfigureAwait(false);
    }

    private async Task LingerAsync(IUplinkTransport transport)
    {
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(1), _timeProvider);
        using var registration = deadline.Token.UnsafeRegister(static state => ((IUplinkTransport)state!).Abort(), transport);
        var buffer = new byte[1024];
        var total = 0;
        try
        {
            int received;
            while (total < 64 * 1024 && (received = await transport.ReceiveAsync(buffer).ConfigureAwait(false)) > 0)
            {
                total += received;
            }
        }
        catch (IOException)
        {
            // It is gone, which is what was waited for.
        }
    }
}
