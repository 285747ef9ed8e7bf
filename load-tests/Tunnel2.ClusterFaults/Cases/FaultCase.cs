using Tunnel2.ClusterFaults.Cluster;

namespace Tunnel2.ClusterFaults.Cases;

/// <summary>Something that fails, and what is promised for it.</summary>
/// <param name="Name">Its name on the command line.</param>
/// <param name="Promise">What is promised, in a line.</param>
/// <param name="Seconds">How long the fault lasts.</param>
/// <param name="RunAsync">Lets it fail and judges. Requests are under way.</param>
internal sealed record FaultCase(string Name, string Promise, int Seconds, Func<CaseRun, Task> RunAsync)
{
    /// <summary>Whether something has to be cut off.</summary>
    public bool NeedsCuts { get; init; }

    /// <summary>Changes what the nodes are started with, or null.</summary>
    public Func<FaultCluster, FaultOptions, Task>? PrepareAsync { get; init; }

    /// <summary>Why it cannot be measured here; null: it can.</summary>
    public Func<FaultOptions, string?> Missing { get; init; } = static _ => null;
}
