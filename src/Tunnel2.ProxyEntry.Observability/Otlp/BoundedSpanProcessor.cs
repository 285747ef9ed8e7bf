using System.Diagnostics;
using OpenTelemetry;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Otlp;

/// <summary>
/// The batches of spans for the collector, with a bound of our own on what waits: the library's queue drops without telling anybody how
/// much. Thread-safe.
/// </summary>
internal sealed class BoundedSpanProcessor : BatchActivityExportProcessor
{
    private const int MostWaiting = 2048;
    private const int DelayMilliseconds = 2000;

    private readonly CountedSpanExporter _exporter;
    private readonly ProxyEntryMetrics _metrics;

    /// <param name="exporter">Sends the batches.</param>
    /// <param name="timeoutMilliseconds">How long one batch may take.</param>
    /// <param name="metrics">Where lost spans are counted.</param>
    public BoundedSpanProcessor(CountedSpanExporter exporter, int timeoutMilliseconds, ProxyEntryMetrics metrics)
        : base(exporter, MostWaiting, DelayMilliseconds, timeoutMilliseconds)
    {
        _exporter = exporter;
        _metrics = metrics;
    }

    /// <inheritdoc/>
    public override void OnEnd(Activity data)
    {
        // Never more than the queue has room for, so that what is given to it is there.
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
