using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using Pipelines.Sockets.Unofficial;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.PipelinesSockets;

/// <summary>
/// An uplink's bytes over <see cref="SocketConnection"/>: in each direction a pipe between the uplink's loops and the socket's. It copies
/// all bytes once more than <see cref="SocketTransport"/>. The comparison is about the library's own loops and pools.
/// </summary>
internal sealed class PipelinesUplinkTransport : IUplinkTransport
{
    /// <summary>A send completes when fewer than this many bytes are unsent, so that the uplink's own batching keeps its effect.</summary>
    private const int PauseBytes = 128 * 1024;

    private readonly Socket _socket;
    private readonly SocketConnection _connection;
    private int _aborted;

    /// <summary>Takes over a connected socket.</summary>
    public PipelinesUplinkTransport(Socket socket)
    {
        _socket = socket;
        RemoteName = SocketTuning.RemoteNameOf(socket);
        SocketTuning.ApplyToUplink(socket);
        var options = new PipeOptions(
            pauseWriterThreshold: PauseBytes, resumeWriterThreshold: PauseBytes / 2, useSynchronizationContext: false);
        _connection = SocketConnection.Create(socket, options, options);
    }

    /// <inheritdoc/>
    public string RemoteName { get; }

    /// <inheritdoc/>
    public long RetransmittedSegments => SocketTuning.ReadRetransmittedSegments(_socket);

    /// <inheritdoc/>
    public async ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        var read = await GuardAsync(_connection.Input.ReadAsync()).ConfigureAwait(false);
        if (read.IsCanceled)
        {
            throw Aborted(null);
        }

        // No byte after the taken ones is marked as examined, so the next read returns the rest at once.
        var count = (int)Math.Min(buffer.Length, read.Buffer.Length);
        var taken = read.Buffer.Slice(0, count);
        taken.CopyTo(buffer.Span);
        _connection.Input.AdvanceTo(taken.End);
        return count;
    }

    /// <inheritdoc/>
    public async ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        var flush = await GuardAsync(_connection.Output.WriteAsync(buffer)).ConfigureAwait(false);
        if (flush.IsCanceled || flush.IsCompleted)
        {
            throw Aborted(null);
        }
    }

    /// <inheritdoc/>
    public void ShutdownSend() => _connection.Output.Complete();

    /// <inheritdoc/>
    public void Abort()
    {
        if (Interlocked.Exchange(ref _aborted, 1) == 0)
        {
            _socket.Dispose();
            _connection.Input.CancelPendingRead();
            _connection.Output.CancelPendingFlush();
        }
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        Abort();
        _connection.Dispose();
        return default;
    }

    /// <summary>Turns every exception of the library for a lost connection into the uplink's one kind of failure.</summary>
    private static async ValueTask<T> GuardAsync<T>(ValueTask<T> operation)
    {
        try
        {
            return await operation.ConfigureAwait(false);
        }
        catch (Exception exception)
            when (exception is ConnectionAbortedException or SocketException or ObjectDisposedException or InvalidOperationException)
        {
            throw Aborted(exception);
        }
    }

    private static IOException Aborted(Exception? inner) => new("The connection was aborted.", inner);
}
