using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.FunctionalTests.Processes;

/// <summary>Tests with processes of their own run one after another and beside no others: they measure time and memory.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
[SuppressMessage("Naming", "CA1711:Identifiers should not have incorrect suffix", Justification = "It is what xUnit calls it.")]
public sealed class RealProcessesCollection : ICollectionFixture<SharedTunnels>
{
    /// <summary>The collection's name.</summary>
    public const string Name = "Real processes";
}
