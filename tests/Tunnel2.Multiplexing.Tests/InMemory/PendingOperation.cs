using System.IO.Pipelines;
using System.Threading.Tasks.Sources;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>
/// A send or receive that waits: reused, allocates nothing, and continues where the scheduler says, as a socket's completion does.
/// </summary>
internal sealed class PendingOperation(PipeScheduler scheduler) : IValueTaskSource<int>, IValueTaskSource
{
    private ManualResetValueTaskSourceCore<int> _source;
    private int _result;
    private Exception? _error;

    public bool IsWaiting { get; private set; }

    public short Begin()
    {
        Assert.False(IsWaiting, "The transport's user started an operation while one of the same kind was pending.");
        _source.Reset();
        IsWaiting = true;
        return _source.Version;
    }

    /// <summary>Marks it done; <see cref="Deliver"/> is to be called once, outside every lock.</summary>
    public void Finish(int result, Exception? error)
    {
        IsWaiting = false;
        _result = result;
        _error = error;
    }

    public void Deliver() => scheduler.Schedule(static self => ((PendingOperation)self!).Complete(), this);

    int IValueTaskSource<int>.GetResult(short token) => _source.GetResult(token);

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    public ValueTaskSourceStatus GetStatus(short token) => _source.GetStatus(token);

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);

    private void Complete()
    {
        if (_error is { } error)
        {
            _source.SetException(error);
        }
        else
        {
            _source.SetResult(_result);
        }
    }
}
