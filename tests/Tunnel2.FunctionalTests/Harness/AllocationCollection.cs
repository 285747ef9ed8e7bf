namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Tests that count what the whole process allocates run alone.</summary>
[CollectionDefinition(Name, DisableParallelization = true)]
public sealed class AllocationCollection
{
    public const string Name = "Allocation";
}
