namespace Tunnel2.TestUtilities;

/// <summary>
/// A clock whose timestamps can be made to throw: a fault in the middle of a timer's work. Its timers are those of another clock.
/// </summary>
/// <param name="inner">The other clock.</param>
public sealed class FailingTimeProvider(TimeProvider inner) : TimeProvider
{
    private int _failures;

    /// <summary>How many of the next timestamps throw.</summary>
    public int Failures
    {
        get => Volatile.Read(ref _failures);
        set => Volatile.Write(ref _failures, value);
    }

    public override TimeZoneInfo LocalTimeZone => inner.LocalTimeZone;

    public override long TimestampFrequency => inner.TimestampFrequency;

    public override DateTimeOffset GetUtcNow() => inner.GetUtcNow();

    /// <exception cref="InvalidTimeZoneException">This one was to fail.</exception>
    public override long GetTimestamp()
    {
        if (Failures > 0)
        {
            Interlocked.Decrement(ref _failures);
            throw new InvalidTimeZoneException();
        }

        return inner.GetTimestamp();
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        inner.CreateTimer(callback, state, dueTime, period);
}
