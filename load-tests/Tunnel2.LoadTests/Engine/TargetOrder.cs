namespace Tunnel2.LoadTests.Engine;

/// <summary>
/// Which target an arrival goes to: each round goes to every target once, in an order of its own. In turn, the same target would come at
/// the same moment of every period, and what the machine does periodically would hit the same few targets again and again and look like
/// unfairness.
/// </summary>
internal sealed class TargetOrder
{
    private readonly int _targets;
    private readonly int[] _strides;

    /// <param name="targets">How many there are, at least 1.</param>
    public TargetOrder(int targets)
    {
        _targets = targets;
        _strides = [.. Enumerable.Range(1, targets).Where(stride => Coprime(stride, targets))];
    }

    /// <summary>The target of an arrival, from 0; the same for the same number.</summary>
    public int this[long index]
    {
        get
        {
            var (round, position) = Math.DivRem(index, _targets);
            var random = Mix((ulong)round);
            var stride = _strides[(int)(random % (ulong)_strides.Length)];
            return (int)(((position * stride) + (long)(random >> 33)) % _targets);
        }
    }

    private static bool Coprime(int a, int b)
    {
        while (b != 0)
        {
            (a, b) = (b, a % b);
        }

        return a == 1;
    }

    /// <summary>The finaliser of SplitMix64 (Steele, Lea, Flood, 2014).</summary>
    private static ulong Mix(ulong value)
    {
        value += 0x9E3779B97F4A7C15;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        return value ^ (value >> 31);
    }
}
