using System.Threading.Tasks.Sources;

namespace Tunnel2.Transport.Epoll.Pipes;

/// <summary>
/// The one wait that an end of a pipe may have at a time: for bytes to read, or for a flush. It is a part of the end, which is the source
/// of the value task, so that waiting allocates nothing. The socket's gate guards whether there is a wait; the side that ended it finishes
/// it.
/// </summary>
/// <typeparam name="TResult">The result of the wait.</typeparam>
internal struct PipeWait<TResult>
{
    private ManualResetValueTaskSourceCore<TResult> _source;
    private CancellationTokenRegistration _registration;
    private CancellationToken _token;
    private TResult? _pendingResult;
    private Exception? _pendingError;

    /// <summary>Whether a wait is running or about to begin.</summary>
    public bool IsOn { get; private set; }

    /// <summary>A wait is about to begin: <see cref="BeginUnsynchronized"/> or <see cref="WithdrawUnsynchronized"/> follows.</summary>
    public void AnnounceUnsynchronized() => IsOn = true;

    /// <summary>No wait is needed.</summary>
    public void WithdrawUnsynchronized() => IsOn = false;

    /// <summary>Begins to wait.</summary>
    /// <param name="owner">The end of the pipe that contains this.</param>
    /// <param name="onCanceled">Called with the owner when the token is cancelled, perhaps inside this call.</param>
    /// <param name="token">Ends the wait early.</param>
    public ValueTask<TResult> BeginUnsynchronized(
        IValueTaskSource<TResult> owner, Action<object?, CancellationToken> onCanceled, CancellationToken token)
    {
        IsOn = true;
        _source.Reset();
        _token = token;
        if (token.CanBeCanceled)
        {
            _registration = token.UnsafeRegister(onCanceled, owner);
        }

        return new ValueTask<TResult>(owner, _source.Version);
    }

    /// <summary>Whether the running wait began with this token.</summary>
    public readonly bool IsForUnsynchronized(CancellationToken token) => IsOn && _token == token;

    /// <summary>Ends the wait. <see cref="Finish"/> follows, outside the gate.</summary>
    /// <returns>The registration that must be disposed of before that.</returns>
    public CancellationTokenRegistration EndUnsynchronized()
    {
        IsOn = false;
        var registration = _registration;
        _registration = default;
        return registration;
    }

    /// <summary>
    /// Ends the wait now. <see cref="FinishPending"/> follows, on the consumer's thread and never inside the call that ended it.
    /// </summary>
    public void EndForLaterUnsynchronized(TResult? result, Exception? error)
    {
        // Only unregistered, because its callback may be running this code, or may wait for the gate and then find nothing to do.
        EndUnsynchronized().Unregister();
        _pendingResult = result;
        _pendingError = error;
    }

    /// <summary>Lets the consumer continue with the result of <see cref="EndForLaterUnsynchronized"/>.</summary>
    public void FinishPending()
    {
        var (result, error) = (_pendingResult, _pendingError);
        (_pendingResult, _pendingError) = (default, null);
        Finish(result, error);
    }

    /// <summary>Lets the consumer continue.</summary>
    public void Finish(TResult? result, Exception? error)
    {
        if (error is null)
        {
            _source.SetResult(result!);
        }
        else
        {
            _source.SetException(error);
        }
    }

    /// <inheritdoc cref="IValueTaskSource{TResult}.GetResult"/>
    public TResult GetResult(short token) => _source.GetResult(token);

    /// <inheritdoc cref="IValueTaskSource{TResult}.GetStatus"/>
    public readonly ValueTaskSourceStatus GetStatus(short token) => _source.GetStatus(token);

    /// <inheritdoc cref="IValueTaskSource{TResult}.OnCompleted"/>
    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);
}
