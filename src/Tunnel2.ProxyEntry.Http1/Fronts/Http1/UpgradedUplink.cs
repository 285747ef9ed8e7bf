using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>The bytes of a public listener's connection after a 101, as the transport of an uplink over WebSocket.</summary>
internal sealed class UpgradedUplink : IUplinkTransport
{
    private readonly Http1Connection _connection;
    private readonly VisitorTransport _transport;
    private readonly UpgradedConnection _bytes;
    private Task _ending = Task.CompletedTask;
    private volatile bool _isAborted;
    private volatile bool _hasEnded;

    /// <param name="connection">The connection, which ends after this transport.</param>
    /// <param name="transport">Its parts.</param>
    /// <param name="bytes">It after the 101.</param>
    /// <param name="remoteName">The agent's address, for people.</param>
    public UpgradedUplink(Http1Connection connection, VisitorTransport transport, UpgradedConnection bytes, string remoteName)
    {
        _connection = connection;
        _transport = transport;
        _bytes = bytes;
        RemoteName = remoteName;
    }

    /// <inheritdoc/>
    public string RemoteName { get; }

    /// <inheritdoc/>
    public PipeScheduler? Home => _transport.Loop?.Loop;

    /// <inheritdoc/>
    public bool TryMoveTo(PipeScheduler home) => home is EpollLoop loop && _transport.Loop?.TryMoveTo(loop) == true;

    /// <inheritdoc/>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public async ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        try
        {
            while (!_isAborted)
            {
                var read = await _bytes.Input.ReadAsync().ConfigureAwait(false);
                var count = (int)Math.Min(read.Buffer.Length, buffer.Length);
                var isThere = !read.Buffer.IsEmpty;
                var taken = read.Buffer.Slice(0, count);
                taken.CopyTo(buffer.Span);
                _bytes.Input.AdvanceTo(taken.End);
                if (isThere)
                {
                    return count;
                }

                if (read.IsCompleted && !_isAborted)
                {
                    _hasEnded = true;
                    return 0;
                }
            }
        }
        catch (Exception exception) when (exception is OperationCanceledException or InvalidOperationException)
        {
            throw new IOException("The connection was aborted.", exception);
        }

        throw new IOException("The connection was aborted.");
    }

    /// <inheritdoc/>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public async ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        if (_isAborted || !await _bytes.SendAsync(buffer).ConfigureAwait(false))
        {
            throw new IOException("The agent's connection is gone.");
        }
    }

    /// <inheritdoc/>
    public void ShutdownSend() => _ending = EndAsync();

    /// <inheritdoc/>
    public void Abort()
    {
        _isAborted = true;
        _connection.Abort();
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (!_hasEnded)
        {
            Abort();
        }

        await _ending.ConfigureAwait(false);
    }

    private async Task EndAsync()
    {
        try
        {
            await _bytes.EndSendAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or InvalidOperationException)
        {
            // The connection has already gone.
        }
    }
}
