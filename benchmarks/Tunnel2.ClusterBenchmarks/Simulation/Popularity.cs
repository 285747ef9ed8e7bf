namespace Tunnel2.ClusterBenchmarks.Simulation;

/// <summary>Draws names as visitors do: the one of rank k is wanted in proportion to 1/k (Zipf). The same seed draws the same.</summary>
internal sealed class Popularity
{
    private readonly double[] _sums;
    private readonly Random _random;

    public Popularity(int names, Random random)
    {
        _random = random;
        _sums = new double[names];
        var sum = 0.0;
        for (var rank = 0; rank < names; rank++)
        {
            sum += 1.0 / (rank + 1);
            _sums[rank] = sum;
        }
    }

    /// <summary>Draws a rank.</summary>
    public int Next()
    {
        var found = Array.BinarySearch(_sums, _random.NextDouble() * _sums[^1]);
        return Math.Min(found < 0 ? ~found : found, _sums.Length - 1);
    }
}
