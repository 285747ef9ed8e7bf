using System.Diagnostics;
using OpenTelemetry;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Otlp;

/// <summary>
/// Batches spans for the collector, with our own limit of waiting spans: the library's queue drops spans without reporting how many.
/// Thread-safe.
/// </summary>
internal sealed class BoundedSpanProcessor : BatchActivityExportProcessor
{
    private const int MostWaiting = 2048;
    private const int DelayMilliseconds = 2000;

    private readonly CountedSpanExporter _exporter;
    private readonly ProxyEntryMetrics _metrics;

    /// <param name="exporter">Sends the batches.</param>
    /// <param name="timeoutMilliseconds">How long one batch may take.</param>
    /// <param name="metrics">Counts lost spans.</param>
    public BoundedSpanProcessor(CountedSpanExporter exporter, int timeoutMilliseconds, ProxyEntryMetrics metrics)
        : base(exporter, MostWaiting, DelayMilliseconds, timeoutMilliseconds)
    {
        _exporter = exporter;
        _metrics = metrics;
    }

    /// <inheritdoc/>
    public override void OnEnd(Activity data)
    {
        // At most as many as the queue has room for, so the queue drops none.
        if (_exporter.TryAdd(MostWaiting))
        {
            base.OnEnd(data);
        }
        else
        {
            _metrics.SpanDropped();
        }
    }
}
