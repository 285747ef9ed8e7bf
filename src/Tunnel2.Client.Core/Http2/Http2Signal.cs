using System.Threading.Tasks.Sources;

namespace Tunnel2.Client.Core.Http2;

/// <summary>
/// One wait at a time, which is used again. <see cref="Wait"/> and <see cref="TryTake"/> are called under the connection's gate. The code
/// that took the wait calls <see cref="Complete"/> outside of it.
/// </summary>
internal sealed class Http2Signal : IValueTaskSource
{
    private ManualResetValueTaskSourceCore<bool> _source;
    private bool _isWaiting;

    /// <param name="inline">Whether the waiter continues inside of <see cref="Complete"/>.</param>
    public Http2Signal(bool inline)
    {
        _source.RunContinuationsAsynchronously = !inline;
    }

    /// <summary>Begins a wait.</summary>
    public ValueTask Wait()
    {
        _source.Reset();
        _isWaiting = true;
        return new ValueTask(this, _source.Version);
    }

    /// <summary>Takes the wait, if there is one.</summary>
    public bool TryTake()
    {
        var isWaiting = _isWaiting;
        _isWaiting = false;
        return isWaiting;
    }

    /// <summary>Ends the wait that was taken.</summary>
    public void Complete() => _source.SetResult(true);

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);
}
