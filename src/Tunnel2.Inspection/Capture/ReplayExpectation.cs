using Tunnel2.Inspection.Heads;

namespace Tunnel2.Inspection.Capture;

/// <summary>
/// A replay that was sent through the tunnel and comes back as an exchange of the same session: the first one with its method and target
/// is it. Thread-safe.
/// </summary>
internal sealed class ReplayExpectation
{
    private readonly byte[] _method;
    private readonly byte[] _target;
    private readonly TaskCompletionSource<ExchangeCapture> _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _isTaken;

    /// <param name="source">The exchange that is repeated.</param>
    /// <param name="method">The replay's method.</param>
    /// <param name="target">The replay's target.</param>
    public ReplayExpectation(long source, byte[] method, byte[] target)
    {
        Source = source;
        _method = method;
        _target = target;
    }

    /// <summary>The exchange that is repeated.</summary>
    public long Source { get; }

    /// <summary>Whether an exchange was taken for it.</summary>
    public bool IsTaken => Volatile.Read(ref _isTaken) != 0;

    /// <summary>Completes with the exchange when it is over.</summary>
    public Task<ExchangeCapture> Ended => _ended.Task;

    /// <summary>Takes an exchange, if it is the one.</summary>
    public bool TryTake(RequestHead head) =>
        head.Method.AsSpan().SequenceEqual(_method)
        && head.Target.AsSpan().SequenceEqual(_target)
        && Interlocked.Exchange(ref _isTaken, 1) == 0;

    /// <summary>The exchange is over.</summary>
    public void OnEnded(ExchangeCapture capture) => _ended.TrySetResult(capture);
}
