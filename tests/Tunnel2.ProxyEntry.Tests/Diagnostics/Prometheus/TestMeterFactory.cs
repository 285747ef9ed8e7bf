using System.Diagnostics.Metrics;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;

/// <summary>A meter factory of one test, so that tests do not see each other's meters.</summary>
internal sealed class TestMeterFactory : IMeterFactory
{
    private readonly List<Meter> _meters = [];

    public Meter Create(MeterOptions options)
    {
        options.Scope = this;
        var meter = new Meter(options);
        _meters.Add(meter);
        return meter;
    }

    public void Dispose() => _meters.ForEach(meter => meter.Dispose());
}
