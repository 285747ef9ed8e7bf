namespace Tunnel2.Multiplexing.Threading;

/// <summary>
/// Counters that every request changes. Each is kept several times, once for each of a few threads, and added up by who looks: two event
/// loops that counted in one place would take its cache line from each other with every request. Thread-safe; counting allocates nothing.
/// </summary>
internal sealed class StripedCounters
{
    /// <summary>Between two threads' counters: two lines of 64 bytes, because a processor may fetch lines in pairs.</summary>
    private const int Gap = 16;

    private readonly long[] _cells;
    private readonly int _stride;

    /// <param name="count">How many counters, ≥ 1.</param>
    public StripedCounters(int count)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(count, 1);
        _stride = count + Gap;
        _cells = new long[(_stride * Stripe.Count) + Gap];
    }

    /// <summary>Adds to a counter.</summary>
    public void Add(int index, long amount) => Interlocked.Add(ref Cell(index), amount);

    /// <summary>Adds a fraction to a counter that has only fractions; <see cref="SumOfFractions"/> reads it.</summary>
    public void AddFraction(int index, double amount)
    {
        ref var cell = ref Cell(index);
        var seen = Volatile.Read(ref cell);
        while (true)
        {
            var sum = BitConverter.DoubleToInt64Bits(BitConverter.Int64BitsToDouble(seen) + amount);
            var before = Interlocked.CompareExchange(ref cell, sum, seen);
            if (before == seen)
            {
                return;
            }

            seen = before;
        }
    }

    /// <summary>The value of a counter. While others count, it is what it was at some moment of the call for each thread.</summary>
    public long Sum(int index)
    {
        var sum = 0L;
        for (var at = Gap + index; at < _cells.Length; at += _stride)
        {
            sum += Volatile.Read(ref _cells[at]);
        }

        return sum;
    }

    /// <summary>As <see cref="Sum"/>, of fractions.</summary>
    public double SumOfFractions(int index)
    {
        var sum = 0.0;
        for (var at = Gap + index; at < _cells.Length; at += _stride)
        {
            sum += BitConverter.Int64BitsToDouble(Volatile.Read(ref _cells[at]));
        }

        return sum;
    }

    private ref long Cell(int index) => ref _cells[Gap + (Stripe.Current * _stride) + index];
}
