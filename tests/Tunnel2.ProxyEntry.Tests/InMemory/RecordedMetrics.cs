using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>Adds up what one test's instruments count. Thread-safe.</summary>
internal sealed class RecordedMetrics : IDisposable
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, long> _sums = [];
    private readonly MeterListener _listener = new();

    public RecordedMetrics()
    {
        _listener.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument.Meter.Scope == Factory && !instrument.IsObservable)
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => Add(instrument, value, tags));
        _listener.SetMeasurementEventCallback<double>((instrument, _, tags, _) => Add(instrument, 1, tags));
        _listener.Start();
    }

    /// <summary>Called with the name of each instrument that counts, where and when it does.</summary>
    public Action<string>? OnCount { get; set; }

    /// <summary>Makes the meters.</summary>
    public TestMeterFactory Factory { get; } = new();

    /// <summary>What an instrument has counted; of a histogram, how many values.</summary>
    /// <param name="name">The instrument, with the values of its tags behind it: <c>tunnel2.entry.parked:full</c>.</param>
    public long this[string name]
    {
        get
        {
            lock (_gate)
            {
                return _sums.GetValueOrDefault(name);
            }
        }
    }

    public void Dispose()
    {
        _listener.Dispose();
        Factory.Dispose();
    }

    private void Add(Instrument instrument, long value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        var name = instrument.Name;
        foreach (var (_, tag) in tags)
        {
            name += $":{tag}";
        }

        lock (_gate)
        {
            _sums[name] = _sums.GetValueOrDefault(name) + value;
        }

        OnCount?.Invoke(name);
    }
}
