using System.Net.Sockets;
using System.Threading.Tasks.Sources;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// A socket operation that is its own awaitable and is reused. The continuation runs on the thread that completed the operation, which is a
/// thread of the pool.
/// </summary>
internal sealed class SocketOperation : SocketAsyncEventArgs, IValueTaskSource<int>
{
    private readonly SocketOperation? _other;
    private ManualResetValueTaskSourceCore<int> _source;
    private volatile SocketError _brokenBy;

    /// <param name="other">
    /// The operation of the other direction, if this one receives. The system reports a break to one of the two, and shows an orderly end
    /// to the other: what a send has met must not let what was received pass as complete.
    /// </param>
    public SocketOperation(SocketOperation? other = null)
        : base(true) => _other = other;

    /// <summary>The operation is running.</summary>
    public ValueTask<int> Pending() => new(this, _source.Version);

    /// <summary>The operation completed before it returned.</summary>
    /// <exception cref="IOException">It failed.</exception>
    public ValueTask<int> CompletedNow()
    {
        var error = TakeError();
        return error == SocketError.Success ? new ValueTask<int>(BytesTransferred) : ValueTask.FromException<int>(Failure(error));
    }

    int IValueTaskSource<int>.GetResult(short token)
    {
        try
        {
            return _source.GetResult(token);
        }
        finally
        {
            _source.Reset();
        }
    }

    ValueTaskSourceStatus IValueTaskSource<int>.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource<int>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);

    /// <inheritdoc/>
    protected override void OnCompleted(SocketAsyncEventArgs e)
    {
        var error = TakeError();
        if (error == SocketError.Success)
        {
            _source.SetResult(BytesTransferred);
        }
        else
        {
            _source.SetException(Failure(error));
        }
    }

    private SocketError TakeError()
    {
        // After a broken pipe the end is the peer's, or our own: it came before.
        if (SocketError is not (SocketError.Success or SocketError.OperationAborted or SocketError.Shutdown))
        {
            _brokenBy = SocketError;
        }

        return SocketError == SocketError.Success && BytesTransferred == 0 && Count > 0 && _other is { } other
            ? other._brokenBy
            : SocketError;
    }

    private static IOException Failure(SocketError error) =>
        new(
            error == SocketError.OperationAborted ? "The connection was aborted." : $"The connection failed: {error}.",
            new SocketException((int)error));
}
