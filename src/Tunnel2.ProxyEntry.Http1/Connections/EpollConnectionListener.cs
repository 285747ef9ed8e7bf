using System.Buffers;
using System.Net;
using System.Net.Sockets;
using System.Threading.Channels;
using Microsoft.AspNetCore.Connections;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Hands accepted connections to Kestrel.</summary>
internal sealed class EpollConnectionListener : IConnectionListener
{
    private const string FaultPlace = "visitor's connection";

    private readonly ContainedFaults _faults;
    private readonly MemoryPool<byte> _memoryPool;
    private readonly ConnectionLimit _limit;
    private readonly IReadOnlyList<EpollListener> _listeners;
    private readonly IPEndPoint _endPoint;
    private readonly Channel<EpollConnectionContext> _accepted;
    private readonly Func<EpollConnectionContext, Task<bool>>? _serve;

    /// <summary>Starts to listen.</summary>
    /// <param name="loops">The loops of the connections; each begins on the loop that accepted it.</param>
    /// <param name="bound">A bound socket; the listener owns it.</param>
    /// <param name="backlog">How many connections the kernel holds until they are accepted.</param>
    /// <param name="memoryPool">The pool for Kestrel's own pipes.</param>
    /// <param name="limit">The limit of connections.</param>
    /// <param name="failed">Called when descriptors or memory were short.</param>
    /// <param name="serve">
    /// Serves a connection directly on the loop, without Kestrel's task, thread and bookkeeping for each. False: Kestrel serves it,
    /// unchanged. Null: Kestrel serves all.
    /// </param>
    public EpollConnectionListener(
        IReadOnlyList<EpollLoop> loops,
        Socket bound,
        int backlog,
        MemoryPool<byte> memoryPool,
        ConnectionLimit limit,
        Action<SocketError> failed,
        Func<EpollConnectionContext, Task<bool>>? serve = null)
    {
        _limit = limit;
        _serve = serve;
        _faults = loops[0].Faults;
        _memoryPool = memoryPool;

        // Kestrel's accept loop continues inside the accepting call; it only queues the connection to the pool.
        _accepted = Channel.CreateUnbounded<EpollConnectionContext>(
            new UnboundedChannelOptions { SingleReader = true, AllowSynchronousContinuations = true });
        _endPoint = (IPEndPoint)bound.LocalEndPoint!;
        _listeners = EpollListener.StartAll(loops, bound, backlog, OnAccepted, failed, limit);
    }

    /// <inheritdoc/>
    public EndPoint EndPoint => _endPoint;

    /// <inheritdoc/>
    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
    {
        while (await _accepted.Reader.WaitToReadAsync(cancellationToken).ConfigureAwait(false))
        {
            if (_accepted.Reader.TryRead(out var connection))
            {
                return connection;
            }
        }

        return null;
    }

    /// <inheritdoc/>
    public async ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        await StopAsync().ConfigureAwait(false);

        // Waits until Kestrel has taken the last one.
        await _accepted.Reader.Completion.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await StopAsync().ConfigureAwait(false);
        while (_accepted.Reader.TryRead(out var connection))
        {
            connection.Abort();
        }

        _memoryPool.Dispose();
    }

    private async Task StopAsync()
    {
        await Task.WhenAll(_listeners.Select(static listener => listener.StopAsync())).ConfigureAwait(false);
        _accepted.Writer.TryComplete();
    }

    private void OnAccepted(EpollLoop loop, int descriptor, IPEndPoint? remote)
    {
        if (!_limit.TryEnter(remote?.Address, out var place))
        {
            DescriptorOf.Reset(descriptor);
            return;
        }

        var connection = new EpollConnectionContext(loop, descriptor, _endPoint, remote, _memoryPool, _limit, place);
        if (connection.Register() != 0)
        {
            connection.Abort();
            return;
        }

        if (_serve is null)
        {
            _faults.Run(FaultPlace, GiveToKestrel, connection);
        }
        else
        {
            _ = ServeAsync(_serve, connection);
        }
    }

    private async Task ServeAsync(Func<EpollConnectionContext, Task<bool>> serve, EpollConnectionContext connection)
    {
        try
        {
            if (await serve(connection).ConfigureAwait(false))
            {
                await connection.DisposeAsync().ConfigureAwait(false);
            }
            else
            {
                GiveToKestrel(connection);
            }
        }
        catch (Exception exception)
        {
            _faults.Add(FaultPlace, exception);
            connection.Abort();
        }
    }

    private void GiveToKestrel(EpollConnectionContext connection)
    {
        if (!_accepted.Writer.TryWrite(connection))
        {
            connection.Abort();
        }
    }
}
