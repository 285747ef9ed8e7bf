using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>Tests that measure the memory of this process run one after another and beside no others.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
[SuppressMessage("Naming", "CA1711:Identifiers should not have incorrect suffix", Justification = "It is what xUnit calls it.")]
public sealed class MemoryCollection
{
    /// <summary>The collection's name.</summary>
    public const string Name = "Memory";
}
