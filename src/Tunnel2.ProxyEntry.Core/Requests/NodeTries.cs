namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The registrations at other nodes that a request was tried at, whose nodes did nothing with it; and how often it was tried at all. With
/// each look of a request that waits, both begin again. The time that it may wait does not.
/// </summary>
internal struct NodeTries
{
    private long _first;
    private long _second;
    private long _third;
    private long _until;

    /// <summary>How many, three at most.</summary>
    public int Count { get; private set; }

    /// <summary>How many streams it had, the present one included.</summary>
    public int Tries { get; set; }

    /// <summary>How many of them led to other nodes.</summary>
    public int Streams { get; set; }

    /// <summary>Until when it may wait: what found a node by a look, and was refused there, waits no longer for that.</summary>
    /// <param name="deadline">When another wait would end.</param>
    public readonly long Bound(long deadline) => _until != 0 && _until < deadline ? _until : deadline;

    /// <summary>The request has waited, and is tried again everywhere.</summary>
    /// <param name="deadline">When its wait ends.</param>
    public void BeginAgain(long deadline) => this = new NodeTries { _until = Bound(deadline), Tries = 1 };

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
