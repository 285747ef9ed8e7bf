using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>Counts records that are not in the statistics, since the start. For the feed's thread alone.</summary>
internal sealed class FeedCounters
{
    private long _lateBefore;
    private long _badBefore;

    /// <summary>Records that were overwritten before the feed read them, or were damaged in the ring.</summary>
    public long Missed { get; private set; }

    /// <summary>Records that came after their window had been closed.</summary>
    public long Late { get; private set; }

    /// <summary>Records that are not requests or could not be read.</summary>
    public long Bad { get; private set; }

    /// <summary>Records that found no place in the ring.</summary>
    public long Dropped { get; private set; }

    public void Update(RequestIntake intake, long missed, long dropped)
    {
        Missed = missed;
        Dropped = dropped;
        Late = _lateBefore + intake.Late;
        Bad = _badBefore + intake.DeadLetters.Total;
    }

    /// <summary>Keeps the counts of an intake, after which another one begins.</summary>
    public void Keep(RequestIntake intake)
    {
        _lateBefore += intake.Late;
        _badBefore += intake.DeadLetters.Total;
    }
}
