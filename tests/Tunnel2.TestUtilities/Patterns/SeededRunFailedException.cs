namespace Tunnel2.TestUtilities;

/// <summary>A test with random input failed; says how to run it with the same input again.</summary>
public sealed class SeededRunFailedException(int seed, Exception inner)
    : Exception($"Failed with {SeededRandom.SeedVariable}={seed} (set it to get the same input again): {inner.Message}", inner)
{
    /// <summary>The seed that led to the failure.</summary>
    public int Seed { get; } = seed;
}
