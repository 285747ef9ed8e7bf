using System.IO.Pipelines;
using System.Net;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Tunnel2.Protocol;

namespace Tunnel2.Embed.Connections;

/// <summary>Hands connections that the agent opens to Kestrel. Thread-safe.</summary>
internal sealed class TunnelListener : IConnectionListener
{
    /// <summary>
    /// Connections that wait for Kestrel. Each belongs to one stream, and an agent has no more of these; Kestrel takes them at once.
    /// </summary>
    private readonly Channel<TunnelConnection> _waiting = Channel.CreateBounded<TunnelConnection>(
        new BoundedChannelOptions(ProtocolLimits.MaxSlots) { FullMode = BoundedChannelFullMode.Wait });

    /// <param name="endPoint">What Kestrel was asked to listen at.</param>
    public TunnelListener(EndPoint endPoint) => EndPoint = endPoint;

    /// <inheritdoc/>
    public EndPoint EndPoint { get; }

    /// <summary>Opens a connection.</summary>
    /// <param name="home">Where the agent's side continues.</param>
    /// <returns>The connection; null: Kestrel takes none any more.</returns>
    public TunnelConnection? TryConnect(PipeScheduler? home)
    {
        var connection = new TunnelConnection(EndPoint, home);
        return _waiting.Writer.TryWrite(connection) ? connection : null;
    }

    /// <inheritdoc/>
    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        while (await _waiting.Reader.WaitToReadAsync(cancellationToken).ConfigureAwait(false))
        {
            if (_waiting.Reader.TryRead(out var connection))
            {
                return connection;
            }
        }

        return null;
    }

    /// <inheritdoc/>
    public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        _waiting.Writer.TryComplete();
        return default;
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        _waiting.Writer.TryComplete();
        while (_waiting.Reader.TryRead(out var connection))
        {
            await connection.DisposeAsync().ConfigureAwait(false);
        }
    }
}
