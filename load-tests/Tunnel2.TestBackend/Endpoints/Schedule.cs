using System.Diagnostics;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>
/// Points in time counted from one start, so that a late step does not delay the following ones. Never early; late by what the timer of
/// the runtime is late (about a millisecond on an idle machine).
/// </summary>
internal readonly struct Schedule
{
    private readonly long _start;

    public Schedule()
    {
        _start = Stopwatch.GetTimestamp();
    }

    /// <summary>Returns once <paramref name="offset"/> has passed since the start; at once if it already has.</summary>
    public async ValueTask WaitUntilAsync(TimeSpan offset, CancellationToken cancellationToken)
    {
        while (offset - Stopwatch.GetElapsedTime(_start) is { Ticks: > 0 } left)
        {
            // The timer counts whole milliseconds and cuts off the rest.
            await Task.Delay((int)Math.Min(Math.Ceiling(left.TotalMilliseconds), 1_000_000), cancellationToken);
        }
    }
}
