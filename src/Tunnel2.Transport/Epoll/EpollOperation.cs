using System.Threading.Tasks.Sources;
using Tunnel2.Transport.Native;

namespace Tunnel2.Transport.Epoll;

/// <summary>
/// A waiting operation, which is the same object each time. It begins and ends under its socket's gate, and completes outside of it,
/// because the continuation runs inside <see cref="Complete"/>.
/// </summary>
internal sealed class EpollOperation(EpollSocket socket) : IValueTaskSource<int>, IValueTaskSource
{
    private ManualResetValueTaskSourceCore<int> _source;
    private int _canceledWith;

    public bool IsPending { get; private set; }

    public void ThrowIfPending()
    {
        if (IsPending)
        {
            throw new InvalidOperationException("An operation of this kind is under way already.");
        }
    }

    public ValueTask<int> Begin() => new(this, BeginVersion());

    public ValueTask BeginWithoutResult() => new(this, BeginVersion());

    public void EndUnsynchronized() => IsPending = false;

    /// <summary>Completes an operation that was ended.</summary>
    /// <param name="result">The result; negative: the error.</param>
    public void Complete(int result)
    {
        if (result >= 0)
        {
            _source.SetResult(result);
        }
        else
        {
            _source.SetException(Errno.ToException(-result));
        }
    }

    /// <summary>Ends it if it is pending, and completes it on the loop's thread in the next turn.</summary>
    public void CancelUnsynchronized(int result = -Errno.Canceled)
    {
        if (IsPending)
        {
            IsPending = false;
            _canceledWith = result;
            socket.Loop.Schedule(static self => ((EpollOperation)self!).Complete(((EpollOperation)self)._canceledWith), this);
        }
    }

    int IValueTaskSource<int>.GetResult(short token) => _source.GetResult(token);

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    public ValueTaskSourceStatus GetStatus(short token) => _source.GetStatus(token);

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);

    private short BeginVersion()
    {
        ThrowIfPending();
        IsPending = true;
        _source.Reset();
        return _source.Version;
    }
}
