namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>The calls to one node that run, and whether it was late. Thread-safe.</summary>
internal sealed class NodeCalls(TimeProvider time)
{
    private int _running;
    private long _lateAt = long.MinValue;

    /// <summary>Whether it did not answer in time within this span.</summary>
    public bool IsLate(TimeSpan within) =>
        Volatile.Read(ref _lateAt) is var at && at != long.MinValue && time.GetElapsedTime(at) < within;

    /// <summary>It did not answer in time.</summary>
    public void MarkLate() => Volatile.Write(ref _lateAt, time.GetTimestamp());

    /// <summary>It has answered.</summary>
    public void MarkAnswered() => Volatile.Write(ref _lateAt, long.MinValue);

    /// <summary>Takes a place for a call; disposing gives it back.</summary>
    /// <returns>Null: there is none.</returns>
    public IDisposable? TryEnter()
    {
        if (Interlocked.Increment(ref _running) <= ClusterNodes.MostCalls)
        {
            return new Place(this);
        }

        Interlocked.Decrement(ref _running);
        return null;
    }

    private sealed class Place(NodeCalls calls) : IDisposable
    {
        private int _isLeft;

        public void Dispose()
        {
            if (Interlocked.Exchange(ref _isLeft, 1) == 0)
            {
                Interlocked.Decrement(ref calls._running);
            }
        }
    }
}
