using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>How busy this process is at a moment. Immutable.</summary>
internal sealed record NodeReading
{
    /// <summary>When it was made, ms since 1970.</summary>
    public required long At { get; init; }

    /// <summary>What the uplinks hold.</summary>
    public UplinkReading Uplinks { get; init; }

    /// <summary>The share of a processor that each event loop used since the previous reading.</summary>
    public double[] Loops { get; init; } = [];

    /// <summary>Processors that this process used since the previous reading: 1.5 is one and a half.</summary>
    public double Processors { get; init; }

    /// <summary>Bytes of this process in memory.</summary>
    public long MemoryBytes { get; init; }

    /// <summary>Bytes of the managed heap.</summary>
    public long HeapBytes { get; init; }

    /// <summary>Bytes from agents that visitors have not read.</summary>
    public long HeldBytes { get; init; }

    /// <summary>At how many of them stalled transfers are cut.</summary>
    public long HeldLimit { get; init; }

    /// <summary>Requests that wait for an agent.</summary>
    public int Parked { get; init; }

    /// <summary>Why <c>/health/ready</c> fails; null when it does not.</summary>
    public string? Trouble { get; init; }
}
