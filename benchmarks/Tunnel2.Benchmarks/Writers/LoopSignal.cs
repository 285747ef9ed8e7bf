using System.Threading.Tasks.Sources;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>
/// Where a write loop sleeps: woken on the pool. The writer's lock guards <see cref="TryTakeWake"/> and <see cref="Arm"/>.
/// </summary>
internal sealed class LoopSignal : IValueTaskSource
{
    private ManualResetValueTaskSourceCore<bool> _source = new() { RunContinuationsAsynchronously = true };
    private bool _sleeping;

    /// <summary>Goes to sleep.</summary>
    public ValueTask Arm()
    {
        _source.Reset();
        _sleeping = true;
        return new ValueTask(this, _source.Version);
    }

    /// <summary>Whether the caller is the one that has to call <see cref="Wake"/>.</summary>
    public bool TryTakeWake()
    {
        var wake = _sleeping;
        _sleeping = false;
        return wake;
    }

    /// <summary>Outside the lock.</summary>
    public void Wake() => _source.SetResult(true);

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);
}
