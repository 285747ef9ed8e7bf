using System.Net;

namespace Tunnel2.ClusterFaults.Networks;

/// <summary>Where nodes, database and agents are, and how they can be cut off from each other.</summary>
internal abstract class FaultNetwork : IAsyncDisposable
{
    /// <summary>What a node is called for a cut: e1, e2, e3; these are the two others.</summary>
    public const string Database = "database";

    /// <summary>All agents together.</summary>
    public const string Agents = "agents";

    /// <summary>Whether it can cut anything off.</summary>
    public abstract bool CanCut { get; }

    /// <summary>The address of a node.</summary>
    public abstract IPAddress AddressOf(string node);

    /// <summary>A free port at a node.</summary>
    public abstract int PortAt(string node);

    /// <summary>The address at which nodes find the database.</summary>
    public abstract IPAddress DatabaseAddress { get; }

    /// <summary>The address from which agents come.</summary>
    public abstract IPAddress AgentAddress { get; }

    /// <summary>What is put before a node's command line, so that it runs there.</summary>
    public abstract IReadOnlyList<string> PrefixOf(string node);

    /// <summary>Drops what goes from one to the other, as a packet filter does, without a notice.</summary>
    public abstract Task CutAsync(string from, string to);

    /// <summary>Ends all cuts.</summary>
    public abstract Task HealAsync();

    /// <summary>Cuts both directions.</summary>
    public async Task CutBothAsync(string one, string other)
    {
        await CutAsync(one, other);
        await CutAsync(other, one);
    }

    /// <inheritdoc/>
    public abstract ValueTask DisposeAsync();
}
