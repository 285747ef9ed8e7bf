namespace Tunnel2.Transport.Epoll;

/// <summary>Counters of a loop's work. The loop writes them unless a method says otherwise, any thread may read them.</summary>
internal sealed class LoopStatistics
{
    private long _rounds;
    private long _events;
    private long _departed;
    private long _arrived;

    /// <summary>Returns of <c>epoll_wait</c>.</summary>
    public long Rounds => Volatile.Read(ref _rounds);

    /// <summary>Events handled.</summary>
    public long Events => Volatile.Read(ref _events);

    /// <summary>Connections that went from here to another loop.</summary>
    public long Departed => Volatile.Read(ref _departed);

    /// <summary>Connections that came here from another loop.</summary>
    public long Arrived => Volatile.Read(ref _arrived);

    /// <summary>A connection went to another loop. From any thread.</summary>
    public void MovedTo(LoopStatistics other)
    {
        Interlocked.Increment(ref _departed);
        Interlocked.Increment(ref other._arrived);
    }

    public void RoundEnded(int events)
    {
        Volatile.Write(ref _rounds, _rounds + 1);
        Volatile.Write(ref _events, _events + events);
    }
}
