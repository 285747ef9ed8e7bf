namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>
/// The system's time, except for single waits of 20 s and more: they end when the test says. So the agent's long waits need no time, and
/// its short ones are as they are.
/// </summary>
internal sealed class HeldTimers : TimeProvider
{
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(20);

    private readonly Lock _gate = new();
    private readonly List<Held> _held = [];

    public TestUtilities.AsyncCounter Waits { get; } = new("long waits");

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        if (dueTime < _long || period != Timeout.InfiniteTimeSpan)
        {
            return base.CreateTimer(callback, state, dueTime, period);
        }

        var held = new Held(this, () => callback(state));
        lock (_gate)
        {
            _held.Add(held);
        }

        Waits.Increment();
        return held;
    }

    /// <summary>Ends the long waits that have begun.</summary>
    public void EndWaits()
    {
        Held[] ended;
        lock (_gate)
        {
            ended = [.. _held];
            _held.Clear();
        }

        foreach (var held in ended)
        {
            held.Fire();
        }
    }

    private sealed class Held(HeldTimers owner, Action fire) : ITimer
    {
        public void Fire() => fire();

        public bool Change(TimeSpan dueTime, TimeSpan period) => true;

        public void Dispose()
        {
            lock (owner._gate)
            {
                owner._held.Remove(this);
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}
