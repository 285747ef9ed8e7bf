using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>Tests that measure rates or the memory of this process run one after another and beside no others.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
[SuppressMessage("Naming", "CA1711:Identifiers should not have incorrect suffix", Justification = "It is what xUnit calls it.")]
public sealed class MeasuringCollection
{
    /// <summary>The collection's name.</summary>
    public const string Name = "Measuring";
}
