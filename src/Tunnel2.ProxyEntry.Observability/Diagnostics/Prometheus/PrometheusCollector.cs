using System.Diagnostics.Metrics;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>
/// Listens to all meters whose name begins with <c>Tunnel2.</c> and to .NET's own <c>System.Runtime</c>, and writes their values in
/// Prometheus' text format. Recording is lock-free; collections run one at a time. Thread-safe.
/// </summary>
internal sealed class PrometheusCollector : IDisposable
{
    private readonly Lock _lock = new();
    private readonly Lock _familiesLock = new();
    private readonly SortedDictionary<string, MetricFamily> _families = new(StringComparer.Ordinal);
    private readonly MeterListener _listener = new();
    private readonly ProcessMetrics _process;
    private readonly IMeterFactory? _scope;
    private long _collection;
    private long _conflicts;
    private long _callbackErrors;

    /// <param name="scope">
    /// The factory whose meters count, together with meters of no factory; null: all meters. It keeps several hosts in one process apart.
    /// </param>
    /// <param name="time">The clock, for the start time in the process's metrics.</param>
    public PrometheusCollector(IMeterFactory? scope, TimeProvider time)
    {
        _scope = scope;
        _process = new ProcessMetrics(time);
        _listener.InstrumentPublished = OnInstrumentPublished;
        _listener.SetMeasurementEventCallback<byte>(static (_, value, tags, state) => Record(state, (long)value, tags));
        _listener.SetMeasurementEventCallback<short>(static (_, value, tags, state) => Record(state, (long)value, tags));
        _listener.SetMeasurementEventCallback<int>(static (_, value, tags, state) => Record(state, (long)value, tags));
        _listener.SetMeasurementEventCallback<long>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<float>(static (_, value, tags, state) => Record(state, (double)value, tags));
        _listener.SetMeasurementEventCallback<double>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<decimal>(static (_, value, tags, state) => Record(state, (double)value, tags));
        _listener.Start();
    }

    /// <summary>The number of the running or last collection.</summary>
    internal long CurrentCollection => Volatile.Read(ref _collection);

    /// <summary>The names of all families, including those without a series.</summary>
    public IReadOnlyList<string> FamilyNames
    {
        get
        {
            lock (_familiesLock)
            {
                return [.. _families.Keys];
            }
        }
    }

    /// <summary>Reads observable instruments and writes all values. An instrument that throws is left out and counted.</summary>
    public byte[] Collect()
    {
        lock (_lock)
        {
            Interlocked.Increment(ref _collection);
            try
            {
                _listener.RecordObservableInstruments();
            }
            catch (Exception)
            {
                // The listener reads all instruments first, and then throws their exceptions together.
                _callbackErrors++;
            }

            var text = new PrometheusText();
            MetricFamily[] families;
            lock (_familiesLock)
            {
                families = [.. _families.Values];
            }

            foreach (var family in families)
            {
                family.Write(text, _collection);
            }

            WriteOwn(text, families);
            _process.Write(text);
            return text.ToUtf8();
        }
    }

    /// <summary>Stops listening.</summary>
    public void Dispose() => _listener.Dispose();

    private static void Record(object? state, long value, ReadOnlySpan<KeyValuePair<string, object?>> tags) =>
        (state as MetricFamily)?.Record(value, tags);

    private static void Record(object? state, double value, ReadOnlySpan<KeyValuePair<string, object?>> tags) =>
        (state as MetricFamily)?.Record(value, tags);

    private void OnInstrumentPublished(Instrument instrument, MeterListener listener)
    {
        if (IsWanted(instrument.Meter) && GetFamily(instrument) is { } family)
        {
            listener.EnableMeasurementEvents(instrument, family);
        }
    }

    private bool IsWanted(Meter meter) =>
        (meter.Name.StartsWith("Tunnel2.", StringComparison.Ordinal) || meter.Name == "System.Runtime")
        && (_scope is null || meter.Scope is null || ReferenceEquals(meter.Scope, _scope));

    private MetricFamily? GetFamily(Instrument instrument)
    {
        var family = new MetricFamily(this, instrument);
        lock (_familiesLock)
        {
            if (_families.TryAdd(family.Name, family))
            {
                return family;
            }

            var present = _families[family.Name];
            if (present.Kind == family.Kind)
            {
                return present;
            }

            // Two instruments have the same name in Prometheus but cannot be added: the first one stays.
            _conflicts++;
            return null;
        }
    }

    private void WriteOwn(PrometheusText text, MetricFamily[] families)
    {
        const string Lost = "tunnel2_metrics_overflow_total";
        text.WriteFamily(Lost, PrometheusType.Counter, "Measurements dropped because their metric has too many tag sets.");
        foreach (var family in families)
        {
            if (family.Lost > 0)
            {
                text.WriteSample(Lost, $"metric=\"{family.Name}\"", family.Lost);
            }
        }

        text.WriteSingle(
            "tunnel2_metrics_conflicts_total", PrometheusType.Counter, "Instruments left out because another has their name.", _conflicts);
        text.WriteSingle(
            "tunnel2_metrics_callback_errors_total", PrometheusType.Counter, "Collections in which an instrument failed.", _callbackErrors);
    }
}
