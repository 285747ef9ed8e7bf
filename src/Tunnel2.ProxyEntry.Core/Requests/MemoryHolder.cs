using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>What holds <see cref="HeldMemory"/>: a body that is not checked yet, or a large head.</summary>
/// <param name="from">The visitor's address, for which it counts.</param>
internal abstract class MemoryHolder(AddressKey from)
{
    /// <summary>The visitor's address, for which it counts.</summary>
    public AddressKey From { get; } = from;

    /// <summary>Bytes that it holds. Belongs to the memory, as the following.</summary>
    public long Bytes { get; set; }

    /// <summary>Whether it was made to give way.</summary>
    public bool IsCut { get; set; }

    /// <summary>Its place among those of its address, the oldest first; null while it counts for none.</summary>
    public LinkedListNode<MemoryHolder>? Place { get; set; }

    /// <summary>
    /// Another address needs the memory: what holds it has to end soon, and gives it back then. Called under the lock of the memory, before
    /// the holder gives back: only begins that end.
    /// </summary>
    public abstract void GiveWay();
}
