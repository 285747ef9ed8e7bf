using System.Net.Sockets;
using System.Threading.Tasks.Sources;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// A socket operation that is its own awaitable and is reused. The continuation runs on the thread that completed the operation, which is a
/// thread of the pool.
/// </summary>
internal sealed class SocketOperation : SocketAsyncEventArgs, IValueTaskSource<int>
{
    private ManualResetValueTaskSourceCore<int> _source;

    public SocketOperation()
        : base(true)
    {
    }

    /// <summary>The operation is running.</summary>
    public ValueTask<int> Pending() => new(this, _source.Version);

    /// <summary>The operation completed before it returned.</summary>
    /// <exception cref="IOException">It failed.</exception>
    public ValueTask<int> CompletedNow()
    {
        if (SocketError != SocketError.Success)
        {
            return ValueTask.FromException<int>(Failure());
        }

        return new ValueTask<int>(BytesTransferred);
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
        if (SocketError == SocketError.Success)
        {
            _source.SetResult(BytesTransferred);
        }
        else
        {
            _source.SetException(Failure());
        }
    }

    private IOException Failure() =>
        new(
            SocketError == SocketError.OperationAborted ? "The connection was aborted." : $"The connection failed: {SocketError}.",
            new SocketException((int)SocketError));
}
