namespace Tunnel2.TestUtilities;

/// <summary>
/// Something that has happened or not, and that a test can wait for. Thread-safe; waiters continue on the thread pool.
/// </summary>
public sealed class WaitSignal
{
    private static readonly TimeSpan _pollInterval = TimeSpan.FromMilliseconds(5);

    private readonly Lock _lock = new();
    private readonly string _name;
    private TaskCompletionSource _completion = NewCompletion();

    /// <param name="name">What the signal says; appears in the message of a wait that timed out.</param>
    public WaitSignal(string name)
    {
        _name = name;
    }

    /// <summary>True once <see cref="Set"/> or <see cref="Fail"/> was called (and not <see cref="Reset"/> since).</summary>
    public bool IsSet => Completion.Task.IsCompleted;

    private TaskCompletionSource Completion
    {
        get
        {
            lock (_lock)
            {
                return _completion;
            }
        }
    }

    /// <summary>Releases all present and later waiters.</summary>
    public void Set() => Completion.TrySetResult();

    /// <summary>Makes all present and later waits throw <paramref name="exception"/>.</summary>
    public void Fail(Exception exception) => Completion.TrySetException(exception);

    /// <summary>Forgets that it was set; later waits wait again.</summary>
    public void Reset()
    {
        lock (_lock)
        {
            if (_completion.Task.IsCompleted)
            {
                _completion = NewCompletion();
            }
        }
    }

    /// <summary>Waits until the signal is set.</summary>
    /// <exception cref="TimeoutException">It was not within <paramref name="timeout"/> (default:
    /// <see cref="AsyncCounter.DefaultTimeout"/>).</exception>
    public async Task WaitAsync(TimeSpan? timeout = null, CancellationToken cancellationToken = default)
    {
        var limit = timeout ?? AsyncCounter.DefaultTimeout;
        var task = Completion.Task;
        try
        {
            await task.WaitAsync(limit, cancellationToken).ConfigureAwait(false);
        }
        catch (TimeoutException) when (!task.IsCompleted)
        {
            throw new TimeoutException($"Waited {limit.TotalSeconds:0.###} s for '{_name}'; it did not happen.");
        }
    }

    /// <summary>
    /// Waits for something that gives no signal (another process's memory, a file, a kernel counter, a counter of the data plane, which
    /// wakes no thread) by asking every 5 ms.
    /// Where a signal is available, use the signal.
    /// </summary>
    /// <exception cref="TimeoutException"><paramref name="condition"/> did not become true in time.</exception>
    public static async Task UntilAsync(
        Func<bool> condition, string description, TimeSpan? timeout = null, CancellationToken cancellationToken = default)
    {
        var limit = timeout ?? AsyncCounter.DefaultTimeout;
        var start = TimeProvider.System.GetTimestamp();
        using var timer = new PeriodicTimer(_pollInterval);
        while (!condition())
        {
            if (TimeProvider.System.GetElapsedTime(start) > limit)
            {
                throw new TimeoutException($"Waited {limit.TotalSeconds:0.###} s until {description}; it did not happen.");
            }

            await timer.WaitForNextTickAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    private static TaskCompletionSource NewCompletion() => new(TaskCreationOptions.RunContinuationsAsynchronously);
}
