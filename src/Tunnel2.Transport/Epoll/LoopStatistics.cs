namespace Tunnel2.Transport.Epoll;

/// <summary>Counters of a loop's work. The loop writes them, any thread may read them.</summary>
internal sealed class LoopStatistics
{
    private long _rounds;
    private long _events;

    /// <summary>Returns of <c>epoll_wait</c>.</summary>
    public long Rounds => Volatile.Read(ref _rounds);

    /// <summary>Events handled.</summary>
    public long Events => Volatile.Read(ref _events);

    public void RoundEnded(int events)
    {
        Volatile.Write(ref _rounds, _rounds + 1);
        Volatile.Write(ref _events, _events + events);
    }
}
