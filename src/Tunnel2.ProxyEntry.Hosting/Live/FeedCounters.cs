using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>What did not get into the statistics, since the start. For the feed's thread alone.</summary>
internal sealed class FeedCounters
{
    private long _lateBefore;
    private long _badBefore;

    /// <summary>Records that the feed was too slow for, or that were damaged in the ring.</summary>
    public long Missed { get; private set; }

    /// <summary>Records that came after their window had been closed.</summary>
    public long Late { get; private set; }

    /// <summary>Records that are no requests or could not be read.</summary>
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

    /// <summary>Another intake follows.</summary>
    public void Keep(RequestIntake intake)
    {
        _lateBefore += intake.Late;
        _badBefore += intake.DeadLetters.Total;
    }
}
