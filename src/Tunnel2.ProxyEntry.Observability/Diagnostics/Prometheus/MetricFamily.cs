using System.Diagnostics.Metrics;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>
/// All series of one instrument; instruments of the same name and kind share one. Recording is lock-free, and allocates nothing for known
/// tag sets.
/// </summary>
internal sealed class MetricFamily
{
    /// <summary>How many tag sets an instrument may have. Measurements with further ones are dropped and counted.</summary>
    public const int MaxTagSets = 1000;

    // .NET 10 declares these two levels as counters. As Prometheus counters every decrease would look like a restart.
    private static readonly string[] _levels = ["dotnet.thread_pool.thread.count", "dotnet.thread_pool.queue.length"];

    private readonly PrometheusCollector _collector;
    private readonly TagSetTable _cells;
    private readonly double[] _bounds;
    private readonly Recording _recording;
    private readonly string? _help;
    private readonly bool _isObservable;
    private long _lost;

    public MetricFamily(PrometheusCollector collector, Instrument instrument)
    {
        _collector = collector;
        (Type, _recording) = Classify(instrument);
        Name = PrometheusName.ForMetric(instrument.Name, instrument.Unit, Type);
        Kind = instrument.GetType().GetGenericTypeDefinition();
        _help = instrument.Description;
        _isObservable = instrument.IsObservable;
        _bounds = Type == PrometheusType.Histogram ? HistogramBounds.For(instrument) : [];
        _cells = new TagSetTable(MaxTagSets, Type == PrometheusType.Histogram ? () => new HistogramCell(_bounds) : () => new MetricCell());
    }

    private enum Recording
    {
        Add,
        Set,
        Observe,
    }

    /// <summary>The name in Prometheus.</summary>
    public string Name { get; }

    /// <summary>The type in Prometheus.</summary>
    public PrometheusType Type { get; }

    /// <summary>The kind of instrument, such as <c>Counter&lt;&gt;</c>: only equal kinds can share a family.</summary>
    public Type Kind { get; }

    /// <summary>How many measurements were dropped because there were too many tag sets.</summary>
    public long Lost => Volatile.Read(ref _lost);

    /// <summary>Records a whole number.</summary>
    public void Record(long value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (Find(tags) is not { } cell)
        {
            return;
        }

        if (_recording == Recording.Add)
        {
            cell.Add(value);
        }
        else if (_recording == Recording.Set)
        {
            cell.Set(value);
        }
        else
        {
            ((HistogramCell)cell).Observe(value);
        }
    }

    /// <summary>Records a fraction.</summary>
    public void Record(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (Find(tags) is not { } cell)
        {
            return;
        }

        if (_recording == Recording.Add)
        {
            cell.Add(value);
        }
        else if (_recording == Recording.Set)
        {
            cell.Set(value);
        }
        else
        {
            ((HistogramCell)cell).Observe(value);
        }
    }

    /// <summary>Writes the family, unless it has no series yet.</summary>
    public void Write(PrometheusText text, long collection)
    {
        var isFirst = true;
        foreach (var (labels, cell) in _cells.GetSeries())
        {
            // An observable instrument no longer reports this tag set, so it is left out: a session's gauge must not outlive the session.
            if (_isObservable && cell.LastSeen != collection)
            {
                continue;
            }

            if (isFirst)
            {
                text.WriteFamily(Name, Type, _help);
                isFirst = false;
            }

            if (cell is HistogramCell histogram)
            {
                text.WriteHistogram(Name, labels, _bounds, histogram);
            }
            else
            {
                text.WriteSample(Name, labels, cell.Value);
            }
        }
    }

    private MetricCell? Find(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        var cell = _cells.GetOrAdd(tags);
        if (cell is null)
        {
            Interlocked.Increment(ref _lost);
        }
        else if (_isObservable)
        {
            cell.LastSeen = _collector.CurrentCollection;
        }

        return cell;
    }

    private static (PrometheusType Type, Recording Recording) Classify(Instrument instrument)
    {
        var kind = instrument.GetType().GetGenericTypeDefinition();
        return kind == typeof(Counter<>) ? (PrometheusType.Counter, Recording.Add)
            : kind == typeof(ObservableCounter<>) && !_levels.Contains(instrument.Name) ? (PrometheusType.Counter, Recording.Set)
            : kind == typeof(UpDownCounter<>) ? (PrometheusType.Gauge, Recording.Add)
            : kind == typeof(Histogram<>) ? (PrometheusType.Histogram, Recording.Observe)
            : (PrometheusType.Gauge, Recording.Set);
    }
}
