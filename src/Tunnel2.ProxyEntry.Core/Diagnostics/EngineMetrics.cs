using System.Diagnostics.Metrics;
using System.Globalization;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>Which engine runs and how much its loops do, for the log and as metrics. Thread-safe.</summary>
internal sealed class EngineMetrics
{
    private readonly KeyValuePair<string, object?>[] _tags;
    private readonly Lock _gate = new(); // Of the use.
    private readonly LoopUse _use;

    public EngineMetrics(IMeterFactory factory, IEngine engine, TimeProvider time)
    {
        Engine = engine.Mode == EngineMode.Epoll ? "epoll" : "portable";
        Loops = engine.Loops.Count;
        _tags = [new("engine", Engine)];
        _use = new LoopUse(time);
        var meter = factory.Create(ProxyEntryMetrics.MeterName);
        meter.CreateObservableGauge(
            "tunnel2.entry.engine.loops",
            () => new Measurement<int>(Loops, _tags),
            "{loop}",
            "Event loops that serve connections; 0 with the portable engine, which uses the thread pool.");
        meter.CreateObservableCounter(
            "tunnel2.entry.engine.loop.cpu",
            ReadUse,
            "s",
            "Processor time that each event loop has used (Linux).");
    }

    /// <summary>The engine's name, as setting <c>Engine</c> writes it.</summary>
    public string Engine { get; }

    /// <summary>Number of event loops.</summary>
    public int Loops { get; }

    private IEnumerable<Measurement<double>> ReadUse()
    {
        lock (_gate)
        {
            return
            [
                .. _use.Totals(Loops).Select(static one => new Measurement<double>(
                    one.Seconds, new KeyValuePair<string, object?>("loop", one.Loop.ToString(CultureInfo.InvariantCulture)))),
            ];
        }
    }
}
