using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.HubLoad;

/// <summary>Adds up what all connections saw. Thread-safe.</summary>
internal sealed class LoadChecker
{
    private readonly Lock _gate = new();
    private readonly LogLinearHistogram _latencies = new();
    private long _delivered;
    private long _holes;
    private long _misrouted;
    private long _ended;
    private string? _other;

    public long DeliveredCount => Interlocked.Read(ref _delivered);

    public bool IsClean => _holes == 0 && _misrouted == 0 && _ended == 0 && _other is null;

    public void Delivered(long ticks)
    {
        Interlocked.Increment(ref _delivered);
        lock (_gate)
        {
            _latencies.Add((uint)Math.Clamp(ticks * 1_000_000 / Stopwatch.Frequency, 0, uint.MaxValue));
        }
    }

    public void Hole(long size) => Interlocked.Add(ref _holes, Math.Abs(size));

    public void Misrouted() => Interlocked.Increment(ref _misrouted);

    public void Ended() => Interlocked.Increment(ref _ended);

    public void Other(string message) => _other ??= message;

    public void Restart()
    {
        lock (_gate)
        {
            _latencies.Clear();
        }

        Interlocked.Exchange(ref _delivered, 0);
    }

    public override string ToString()
    {
        lock (_gate)
        {
            return string.Create(CultureInfo.InvariantCulture,
                $"delivered {_delivered}, holes {_holes}, misrouted {_misrouted}, connections lost {_ended}, p50 {_latencies.Quantile(0.5) / 1e3:0.00} ms, p99 {_latencies.Quantile(0.99) / 1e3:0.00} ms, max {_latencies.Max / 1e3:0.0} ms{(_other is null ? "" : ", other: " + _other)}");
        }
    }
}
