using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>What did not get into the statistics, since the start. Written by the feed's thread alone, readable on any.</summary>
internal sealed class FeedCounters
{
    private long _lateBefore;
    private long _badBefore;
    private long _missed;
    private long _late;
    private long _bad;
    private long _dropped;

    /// <summary>Records that the feed was too slow for, or that were damaged in the ring.</summary>
    public long Missed => Volatile.Read(ref _missed);

    /// <summary>Records that came after their window had been closed.</summary>
    public long Late => Volatile.Read(ref _late);

    /// <summary>Records that are no requests or could not be read.</summary>
    public long Bad => Volatile.Read(ref _bad);

    /// <summary>Records that found no place in the ring.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    public void Update(RequestIntake intake, long missed, long dropped)
    {
        Volatile.Write(ref _missed, missed);
        Volatile.Write(ref _dropped, dropped);
        Volatile.Write(ref _late, _lateBefore + intake.Late);
        Volatile.Write(ref _bad, _badBefore + intake.DeadLetters.Total);
    }

    /// <summary>Keeps the counts of an intake, after which another one begins.</summary>
    public void Keep(RequestIntake intake)
    {
        _lateBefore += intake.Late;
        _badBefore += intake.DeadLetters.Total;
    }
}
