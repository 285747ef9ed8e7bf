using System.Diagnostics;

namespace Tunnel2.TestUtilities;

/// <summary>
/// How late timers of this process are while something is measured: what a busy machine adds to every time that ends with a timer, and no
/// fault of what is measured. Thread-safe.
/// </summary>
public sealed class TimerLateness : IAsyncDisposable
{
    private static readonly TimeSpan _period = TimeSpan.FromMilliseconds(20);

    private readonly PeriodicTimer _timer = new(_period);
    private readonly Task _ticking;
    private long _longest;

    private TimerLateness()
    {
        // From now on, and not from when the pool gets to it: a pool that is held up begins late too.
        var began = Stopwatch.GetTimestamp();
        _ticking = Task.Run(() => TickAsync(began));
    }

    /// <summary>The most that a tick was late so far.</summary>
    public TimeSpan Longest => TimeSpan.FromTicks(Interlocked.Read(ref _longest));

    /// <summary>Begins to look.</summary>
    public static TimerLateness Watch() => new();

    public async ValueTask DisposeAsync()
    {
        _timer.Dispose();
        await _ticking.ConfigureAwait(false);
    }

    private async Task TickAsync(long last)
    {
        while (await _timer.WaitForNextTickAsync().ConfigureAwait(false))
        {
            var now = Stopwatch.GetTimestamp();
            var late = Stopwatch.GetElapsedTime(last, now) - _period;
            if (late > Longest)
            {
                Interlocked.Exchange(ref _longest, late.Ticks);
            }

            last = now;
        }
    }
}
