using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.HubLoad;

/// <summary>Adds up what all connections saw. Thread-safe.</summary>
internal sealed class LoadChecker
{
    private readonly Stripe[] _stripes = [.. Enumerable.Range(0, 16).Select(static _ => new Stripe())];
    private long _holes;
    private long _misrouted;
    private long _ended;
    private string? _other;

    public long DeliveredCount => _stripes.Sum(static stripe => Interlocked.Read(ref stripe.Delivered));

    public bool IsClean => _holes == 0 && _misrouted == 0 && _ended == 0 && _other is null;

    public void Delivered(long ticks)
    {
        // Few threads read: each mostly has a stripe of its own, so that counting costs the measurement little.
        Stripe stripe = _stripes[Environment.CurrentManagedThreadId & 15];
        lock (stripe)
        {
            stripe.Delivered++;
            stripe.Latencies.Add((uint)Math.Clamp(ticks * 1_000_000 / Stopwatch.Frequency, 0, uint.MaxValue));
        }
    }

    public void Hole(long size) => Interlocked.Add(ref _holes, Math.Abs(size));

    public void Misrouted() => Interlocked.Increment(ref _misrouted);

    public void Ended() => Interlocked.Increment(ref _ended);

    public void Other(string message) => _other ??= message;

    public void Restart()
    {
        foreach (Stripe stripe in _stripes)
        {
            lock (stripe)
            {
                stripe.Latencies.Clear();
                stripe.Delivered = 0;
            }
        }
    }

    public override string ToString()
    {
        var all = new LogLinearHistogram();
        foreach (Stripe stripe in _stripes)
        {
            lock (stripe)
            {
                all.Merge(stripe.Latencies);
            }
        }

        return string.Create(CultureInfo.InvariantCulture,
            $"delivered {DeliveredCount}, holes {_holes}, misrouted {_misrouted}, connections lost {_ended}, p50 "
                + $"{all.Quantile(0.5) / 1e3:0.00} ms, p99 {all.Quantile(0.99) / 1e3:0.00} ms, max {all.Max / 1e3:0.0} "
                + $"ms{(_other is null ? "" : ", other: " + _other)}");
    }

    private sealed class Stripe
    {
        public long Delivered;

        public LogLinearHistogram Latencies { get; } = new();
    }
}
