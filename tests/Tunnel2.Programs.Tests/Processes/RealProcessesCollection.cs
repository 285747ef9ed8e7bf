using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.Programs.Tests.Processes;

/// <summary>Tests that measure the time or the memory of processes run one after another and beside no others.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
[SuppressMessage("Naming", "CA1711:Identifiers should not have incorrect suffix", Justification = "It is what xUnit calls it.")]
public sealed class RealProcessesCollection
{
    /// <summary>The collection's name.</summary>
    public const string Name = "Real processes";
}
