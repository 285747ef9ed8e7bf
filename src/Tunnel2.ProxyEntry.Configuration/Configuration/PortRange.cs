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

    /// <summary>
    /// How many one agent has at most where no setting says it: a quarter, and at least ten. So it may have all of a small range.
    /// </summary>
    public int PartOfOne => Math.Min(Count, Math.Max(10, Count / 4));

    /// <summary>Whether a port is in it.</summary>
    public bool Contains(int port) => port >= First && port <= Last;

    /// <inheritdoc/>
    public override string ToString() => FormattableString.Invariant($"{First}-{Last}");
}
