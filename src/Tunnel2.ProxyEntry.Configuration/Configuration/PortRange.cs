namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>A range of ports.</summary>
/// <param name="First">The first, 1…65535.</param>
/// <param name="Last">The last, not below the first.</param>
internal readonly record struct PortRange(int First, int Last)
{
    /// <summary>How many ports it has at most: each is an entry in memory, and some are tried when a port is looked for.</summary>
    public const int MostPorts = 10_000;

    /// <summary>How many ports it has.</summary>
    public int Count => Last - First + 1;

    /// <summary>A quarter of its ports, at least one.</summary>
    public int QuarterOfCount => Math.Max(1, Count / 4);

    /// <summary>Whether a port is in it.</summary>
    public bool Contains(int port) => port >= First && port <= Last;

    /// <inheritdoc/>
    public override string ToString() => FormattableString.Invariant($"{First}-{Last}");
}
