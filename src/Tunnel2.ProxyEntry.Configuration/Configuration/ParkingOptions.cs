namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>How many requests may wait for an agent that is away: keys <c>Tunnel2:Parking:*</c>. Whoever finds no place gets 503 at once.</summary>
public sealed class ParkingOptions
{
    /// <summary>
    /// Requests that may wait for one name: 0 to 1,000,000. Default 1,000, which is five seconds of 200 requests a second. Too many let one
    /// name take the places of all others.
    /// </summary>
    public int PerName { get; set; } = 1_000;

    /// <summary>Requests that may wait in all: 0 to 1,000,000. Default 5,000. Each holds its visitor's connection and some 16 KiB.</summary>
    public int Total { get; set; } = 5_000;

    /// <summary>
    /// Megabytes that waiting requests may hold in all, 1 to 65,536: no body is read while its request waits, but the connection's receive
    /// buffer fills, and is counted as full. Default 128.
    /// </summary>
    public int Megabytes { get; set; } = 128;
}
