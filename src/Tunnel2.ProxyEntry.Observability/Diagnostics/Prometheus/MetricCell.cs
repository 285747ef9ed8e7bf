namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>The value of one tag set of a counter or gauge. Recording is lock-free and allocates nothing.</summary>
internal class MetricCell
{
    private long _integer;
    private double _fraction;

    /// <summary>The collection in which an observable instrument last reported this tag set.</summary>
    public long LastSeen { get; set; }

    /// <summary>The current value.</summary>
    public double Value => Volatile.Read(ref _integer) + Volatile.Read(ref _fraction);

    /// <summary>Adds a whole number.</summary>
    public void Add(long delta) => Interlocked.Add(ref _integer, delta);

    /// <summary>Adds a fraction.</summary>
    public void Add(double delta)
    {
        var current = Volatile.Read(ref _fraction);
        while (true)
        {
            var before = Interlocked.CompareExchange(ref _fraction, current + delta, current);
            // Compares bits and not values, because NaN never equals itself.
            if (BitConverter.DoubleToInt64Bits(before) == BitConverter.DoubleToInt64Bits(current))
            {
                return;
            }

            current = before;
        }
    }

    /// <summary>Replaces the value by a whole number.</summary>
    public void Set(long value) => Volatile.Write(ref _integer, value);

    /// <summary>Replaces the value by a fraction.</summary>
    public void Set(double value) => Volatile.Write(ref _fraction, value);
}
