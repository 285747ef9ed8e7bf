namespace Tunnel2.ProxyEntry.Requests;

/// <summary>The registrations at other nodes that a request was tried at, whose nodes did nothing with it.</summary>
internal struct NodeTries
{
    private long _first;
    private long _second;
    private long _third;

    /// <summary>How many, three at most.</summary>
    public int Count { get; private set; }

    /// <summary>Adds the number of one; a fourth one takes the place of the third.</summary>
    public void Add(long epoch)
    {
        if (Contains(epoch))
        {
            return;
        }

        (_first, _second, _third) = Count == 0 ? (epoch, 0, 0) : Count == 1 ? (_first, epoch, 0) : (_first, _second, epoch);
        Count = Math.Min(3, Count + 1);
    }

    /// <summary>Whether it was one of them.</summary>
    public readonly bool Contains(long epoch) =>
        (Count > 0 && _first == epoch) || (Count > 1 && _second == epoch) || (Count > 2 && _third == epoch);
}
