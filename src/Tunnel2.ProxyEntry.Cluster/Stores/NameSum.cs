namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>What a node's names come to: two equal sums are taken for equal tables.</summary>
/// <param name="Count">How many.</param>
/// <param name="Epochs">The sum of their epochs, each modulo <see cref="Modulus"/>.</param>
internal readonly record struct NameSum(long Count, long Epochs)
{
    /// <summary>Keeps the sum of a million epochs in 64 bits.</summary>
    public const long Modulus = 1_000_000_000_000;
}
