namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The links to a node on which the streams of one name cross there from one event loop to another. Another link may be on the right loop.
/// What it says may be old: the node gives its next uplink another loop, and a closed link leaves its slot. Thread-safe.
/// </summary>
internal sealed class CrossingLinks
{
    private int _slots;

    /// <summary>The slots of these links, a bit for each.</summary>
    public int Slots => Volatile.Read(ref _slots);

    /// <summary>A stream of the link in this slot has crossed.</summary>
    public void Add(int slot) => Interlocked.Or(ref _slots, 1 << slot);

    /// <summary>Nothing is known any more.</summary>
    public void Clear() => Volatile.Write(ref _slots, 0);
}
