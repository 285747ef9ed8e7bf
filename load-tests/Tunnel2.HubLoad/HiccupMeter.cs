using System.Diagnostics;
using System.Globalization;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.HubLoad;

/// <summary>
/// How late this machine lets a thread run that asked for a millisecond of sleep: what of the latencies is the machine's own, and not the
/// hub's. One thread of its own.
/// </summary>
internal sealed class HiccupMeter : IDisposable
{
    private readonly LogLinearHistogram _late = new();
    private readonly Thread _thread;
    private volatile bool _stop;

    public HiccupMeter()
    {
        _thread = new Thread(Run) { IsBackground = true, Name = "hiccups" };
        _thread.Start();
    }

    /// <summary>Ends the measurement and returns it.</summary>
    public string Finish()
    {
        Dispose();
        return string.Create(
            CultureInfo.InvariantCulture,
            $"the machine's own hiccups: p50 {_late.Quantile(0.5) / 1e3:0.00} ms, p99 {_late.Quantile(0.99) / 1e3:0.00} ms, max "
                + $"{_late.Max / 1e3:0.0} ms");
    }

    public void Dispose()
    {
        _stop = true;
        _thread.Join();
    }

    private void Run()
    {
        while (!_stop)
        {
            long start = Stopwatch.GetTimestamp();
            Thread.Sleep(1);
            _late.Add((uint)Math.Max(0, Stopwatch.GetElapsedTime(start).TotalMicroseconds - 1000));
        }
    }
}
