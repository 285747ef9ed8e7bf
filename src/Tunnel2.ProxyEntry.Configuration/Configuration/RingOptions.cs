namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The event ring: keys <c>Tunnel2:Ring:*</c>.</summary>
public sealed class RingOptions
{
    /// <summary>
    /// The ring's file. Default: <c>{EntryId}.ring</c> in <c>$XDG_RUNTIME_DIR/tunnel2</c>, or in <c>/dev/shm/tunnel2-{uid}</c>. On a disk
    /// rather than in memory, a store may wait for the disk.
    /// </summary>
    public string? File { get; set; }

    /// <summary>Records kept, a power of two from 64 to 16,777,216; each takes 256 bytes. Default 65,536: more than a second at 50,000 requests a second. As resident memory a ring that has been filled costs 16 MB.</summary>
    public int Slots { get; set; } = 65_536;
}
