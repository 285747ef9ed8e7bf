using System.Diagnostics;

namespace Tunnel2.Transport.Epoll;

/// <summary>What a loop has done, and whether something held its thread: for metrics. Written by the loop, read from anywhere.</summary>
internal sealed class LoopStatistics
{
    /// <summary>A round that takes longer holds up every other connection.</summary>
    public static readonly TimeSpan LongRound = TimeSpan.FromMilliseconds(50);

    private static readonly long _longRoundTicks = (long)(LongRound.TotalSeconds * Stopwatch.Frequency);

    private long _roundStarted;
    private long _rounds;
    private long _events;
    private long _longRounds;
    private long _longestRound;

    /// <summary>Returns of <c>epoll_wait</c>.</summary>
    public long Rounds => Volatile.Read(ref _rounds);

    /// <summary>Events handled.</summary>
    public long Events => Volatile.Read(ref _events);

    /// <summary>Rounds longer than <see cref="LongRound"/>.</summary>
    public long LongRounds => Volatile.Read(ref _longRounds);

    /// <summary>The longest round so far, the one under way included.</summary>
    public TimeSpan LongestRound
    {
        get
        {
            var longest = Volatile.Read(ref _longestRound);
            var started = Volatile.Read(ref _roundStarted);
            return Stopwatch.GetElapsedTime(0, started == 0 ? longest : Math.Max(longest, Stopwatch.GetTimestamp() - started));
        }
    }

    public void RoundStarted(long now) => Volatile.Write(ref _roundStarted, now);

    public void RoundEnded(long started, long now, int events)
    {
        var took = now - started;
        Volatile.Write(ref _roundStarted, 0);
        Volatile.Write(ref _rounds, _rounds + 1);
        Volatile.Write(ref _events, _events + events);
        if (took > _longRoundTicks)
        {
            Volatile.Write(ref _longRounds, _longRounds + 1);
        }

        if (took > _longestRound)
        {
            Volatile.Write(ref _longestRound, took);
        }
    }
}
