#if TEST_BACKEND
namespace Tunnel2.TestBackend;
#else
namespace Tunnel2.TestUtilities;
#endif

/// <summary>
/// A number that tests can wait on. Thread-safe; waiters continue on the thread pool, never inside the call that changed the number.
/// </summary>
/// <remarks>This file is compiled into the test utilities (public) and into the test backend (internal).</remarks>
#if TEST_BACKEND
internal
#else
public
#endif
sealed class AsyncCounter
{
    /// <summary>
    /// How long a wait lasts when no other limit is given: longer than a busy machine holds anything up, since what is waited for either
    /// happens or never does. A test that means a time measures it.
    /// </summary>
    public static readonly TimeSpan DefaultTimeout = TimeSpan.FromSeconds(30);

    private readonly Lock _lock = new();
    private readonly string _name;
    private readonly List<Waiter> _waiters = [];
    private long _value;

    /// <param name="name">What is counted; appears in the message of a wait that timed out.</param>
    /// <param name="initialValue">The number to start from.</param>
    public AsyncCounter(string name, long initialValue = 0)
    {
        _name = name;
        _value = initialValue;
    }

    /// <summary>The present number.</summary>
    public long Value => Interlocked.Read(ref _value);

    /// <summary>Adds one and returns the new number.</summary>
    public long Increment() => Add(1);

    /// <summary>Takes one away and returns the new number.</summary>
    public long Decrement() => Add(-1);

    /// <summary>Adds <paramref name="amount"/> (which may be negative) and returns the new number.</summary>
    public long Add(long amount)
    {
        lock (_lock)
        {
            return ChangeUnsynchronized(_value + amount);
        }
    }

    /// <summary>Replaces the number.</summary>
    public void Set(long value)
    {
        lock (_lock)
        {
            ChangeUnsynchronized(value);
        }
    }

    /// <summary>Waits until the number is at least <paramref name="count"/>.</summary>
    /// <exception cref="TimeoutException">It was not within <paramref name="timeout"/> (default: <see cref="DefaultTimeout"/>).</exception>
    /// <exception cref="OperationCanceledException"><paramref name="cancellationToken"/> was cancelled first.</exception>
    public Task WaitForAsync(long count, TimeSpan? timeout = null, CancellationToken cancellationToken = default) =>
        WaitUntilAsync(value => value >= count, $"at least {count}", timeout, cancellationToken);

    /// <summary>Waits until <paramref name="condition"/> holds for the number; it is asked under a lock, so it must not block.</summary>
    /// <param name="condition">What the number must satisfy.</param>
    /// <param name="description">The condition in words, for the message of a wait that timed out.</param>
    /// <param name="timeout">How long to wait at most; default: <see cref="DefaultTimeout"/>.</param>
    /// <param name="cancellationToken">Ends the wait early.</param>
    /// <exception cref="TimeoutException">It did not hold within the time.</exception>
    public async Task WaitUntilAsync(
        Func<long, bool> condition, string description, TimeSpan? timeout = null, CancellationToken cancellationToken = default)
    {
        Waiter waiter;
        lock (_lock)
        {
            if (condition(_value))
            {
                return;
            }

            waiter = new Waiter(condition);
            _waiters.Add(waiter);
        }

        var limit = timeout ?? DefaultTimeout;
        try
        {
            await waiter.Completion.Task.WaitAsync(limit, cancellationToken).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            throw new TimeoutException(
                $"Waited {limit.TotalSeconds:0.###} s for '{_name}' to be {description}; it is at {Value}.");
        }
        finally
        {
            lock (_lock)
            {
                _waiters.Remove(waiter);
            }
        }
    }

    /// <summary>
    /// Waits for something that may have come true whenever the number changes, and asks again at each change: the number counts what the
    /// condition follows from. Unlike that of <see cref="WaitUntilAsync"/>, the condition is asked outside any lock.
    /// </summary>
    /// <exception cref="TimeoutException">It did not come true within <paramref name="timeout"/> (default:
    /// <see cref="DefaultTimeout"/>).</exception>
    public async Task UntilAsync(Func<bool> condition, string description, TimeSpan? timeout = null)
    {
        var limit = timeout ?? DefaultTimeout;
        using var end = new CancellationTokenSource(limit);
        while (true)
        {
            // Read first: a change while the condition is asked is not missed.
            var seen = Value;
            if (condition())
            {
                return;
            }

            try
            {
                await WaitUntilAsync(value => value != seen, "another", Timeout.InfiniteTimeSpan, end.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                throw new TimeoutException(
                    $"Waited {limit.TotalSeconds:0.###} s until {description}; it did not happen. '{_name}' is at {Value}.");
            }
        }
    }

    private long ChangeUnsynchronized(long value)
    {
        Interlocked.Exchange(ref _value, value);
        foreach (var waiter in _waiters)
        {
            if (waiter.Condition(value))
            {
                waiter.Completion.TrySetResult();
            }
        }

        return value;
    }

    private sealed class Waiter(Func<long, bool> condition)
    {
        public Func<long, bool> Condition { get; } = condition;

        public TaskCompletionSource Completion { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
