using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>
/// Tests that measure the time or the memory of processes run one after another and beside no others: <c>eng/test.sh</c> runs them by their
/// trait when no other project runs.
/// </summary>
[CollectionDefinition(Name, DisableParallelization = true)]
[Trait("Alone", "yes")]
[SuppressMessage("Naming", "CA1711:Identifiers should not have incorrect suffix", Justification = "It is what xUnit calls it.")]
public sealed class RealProcessesCollection
{
    /// <summary>The collection's name.</summary>
    public const string Name = "Real processes";
}
