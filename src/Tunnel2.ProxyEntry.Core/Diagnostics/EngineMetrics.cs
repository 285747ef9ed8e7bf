using System.Diagnostics.Metrics;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>Which engine runs, for the log and as a metric. Immutable.</summary>
internal sealed class EngineMetrics
{
    private readonly KeyValuePair<string, object?>[] _tags;

    public EngineMetrics(IMeterFactory factory, IEngine engine)
    {
        Engine = engine.Mode == EngineMode.Epoll ? "epoll" : "portable";
        Loops = engine.Loops.Count;
        _tags = [new("engine", Engine)];
        factory.Create(ProxyEntryMetrics.MeterName).CreateObservableGauge(
            "tunnel2.entry.engine.loops",
            () => new Measurement<int>(Loops, _tags),
            "{loop}",
            "Event loops that serve connections; 0 with the portable engine, which uses the thread pool.");
    }

    /// <summary>The engine's name, as setting <c>Engine</c> writes it.</summary>
    public string Engine { get; }

    /// <summary>Number of event loops.</summary>
    public int Loops { get; }
}
