using System.IO.Pipelines;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// A layer between a connection and its TLS that notices when the connection accepts no more bytes. TLS ignores the result of the pipe
/// below it, so without this a response would flow into nothing, without end.
/// </summary>
internal sealed class WatchedTransport : PipeWriter, IDuplexPipe, IVisitorLinkFeature
{
    private readonly PipeWriter _writer;
    private readonly IVisitorLinkFeature? _connection;
    private readonly Socket? _socket;
    private volatile bool _isLost;

    /// <summary>Replaces a connection's transport.</summary>
    /// <param name="transport">The transport.</param>
    /// <param name="connection">The connection, if it knows by itself when it is broken.</param>
    /// <param name="socket">Its socket, if the connection does not know.</param>
    public WatchedTransport(IDuplexPipe transport, IVisitorLinkFeature? connection, Socket? socket)
    {
        _socket = socket;
        Input = transport.Input;
        _writer = transport.Output;
        _connection = connection;
    }

    /// <inheritdoc/>
    public PipeReader Input { get; }

    /// <inheritdoc/>
    public PipeWriter Output => this;

    /// <inheritdoc/>
    public bool IsLost => _isLost || _connection is { IsLost: true };

    /// <inheritdoc/>
    public int Undelivered => _connection?.Undelivered ?? (_socket is null ? 0 : SocketQueue.Undelivered(_socket));

    /// <inheritdoc/>
    public bool SeesAllSent => _connection?.SeesAllSent ?? _socket is null;

    /// <inheritdoc/>
    public override bool CanGetUnflushedBytes => _writer.CanGetUnflushedBytes;

    /// <inheritdoc/>
    public override long UnflushedBytes => _writer.UnflushedBytes;

    /// <inheritdoc/>
    public override void Advance(int bytes) => _writer.Advance(bytes);

    /// <inheritdoc/>
    public override Memory<byte> GetMemory(int sizeHint = 0) => _writer.GetMemory(sizeHint);

    /// <inheritdoc/>
    public override Span<byte> GetSpan(int sizeHint = 0) => _writer.GetSpan(sizeHint);

    /// <inheritdoc/>
    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default) =>
        Watch(_writer.FlushAsync(cancellationToken));

    /// <inheritdoc/>
    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default) =>
        Watch(_writer.WriteAsync(source, cancellationToken));

    /// <inheritdoc/>
    public override void CancelPendingFlush() => _writer.CancelPendingFlush();

    /// <inheritdoc/>
    public override void Complete(Exception? exception = null) => _writer.Complete(exception);

    /// <inheritdoc/>
    public override ValueTask CompleteAsync(Exception? exception = null) => _writer.CompleteAsync(exception);

    private ValueTask<FlushResult> Watch(ValueTask<FlushResult> flushing) =>
        flushing.IsCompletedSuccessfully ? new ValueTask<FlushResult>(Note(flushing.Result)) : WatchAsync(flushing);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<FlushResult> WatchAsync(ValueTask<FlushResult> flushing) => Note(await flushing.ConfigureAwait(false));

    private FlushResult Note(FlushResult flushed)
    {
        if (flushed.IsCompleted)
        {
            _isLost = true;
        }

        return flushed;
    }
}
