namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>How many connections visitors may have, and how much a request may bring: keys <c>Tunnel2:Limits:*</c>.</summary>
public sealed class LimitOptions
{
    /// <summary>
    /// Bytes of a request's head: 1,024 to 65,536. Default 65,536, which is what an uplink carries; beyond it 431. Too few refuse visitors
    /// with many cookies.
    /// </summary>
    public int RequestHeadBytes { get; set; } = 64 * 1024;

    /// <summary>Fields of a request's head: 10 to 200. Default 200, which is what an uplink carries; beyond it 431.</summary>
    public int RequestFields { get; set; } = 200;

    /// <summary>Bytes of a request's first line: 256 to 65,536. Default 16,384; beyond it 414. Too few break long queries.</summary>
    public int RequestLineBytes { get; set; } = 16 * 1024;

    /// <summary>
    /// MiB that bytes may take which agents have sent and visitors have not taken: 16 to 65,536, or auto (0 in code), which is a quarter of the memory, at most
    /// 256. Beyond it the transfers that stand still are cut.
    /// </summary>
    public int BufferMegabytes { get; set; }

    /// <summary>Bytes of a request's body: 0 and more, or off (-1 in code). Default off; beyond it 413.</summary>
    public long RequestBodyBytes { get; set; } = -1;

    /// <summary>
    /// Connections of visitors at once, over HTTP and HTTPS: 1 to 1,000,000, or null for auto (default): what the process's limit of open files
    /// leaves beside everything else. Beyond it visitors wait until one ends; those that only wait for a request end first.
    /// </summary>
    public int? Connections { get; set; }

    /// <summary>
    /// Connections of visitors at once from one address (IPv6: /64): 1 to 1,000,000, or null for auto (default): half of all. Beyond it they are
    /// closed at once. <see cref="ProxyEntryOptions.TrustedProxies"/> are not held to it. Too few shut out visitors who share an address.
    /// </summary>
    public int? ConnectionsPerAddress { get; set; }
}
