using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Exporter;

namespace Tunnel2.ProxyEntry.Otlp;

/// <summary>Counts the spans that wait for the collector, including those being sent. Thread-safe.</summary>
internal sealed class CountedSpanExporter : OtlpTraceExporter
{
    private long _waiting;

    /// <param name="options">The options with the collector's address.</param>
    public CountedSpanExporter(OtlpExporterOptions options)
        : base(options)
    {
    }

    /// <summary>Counts another waiting span, unless the limit is reached.</summary>
    /// <param name="most">The limit.</param>
    /// <returns>Whether there was room.</returns>
    public bool TryAdd(int most)
    {
        if (Interlocked.Increment(ref _waiting) <= most)
        {
            return true;
        }

        Interlocked.Decrement(ref _waiting);
        return false;
    }

    /// <inheritdoc/>
    public override ExportResult Export(in Batch<Activity> activityBatch)
    {
        var count = activityBatch.Count;
        try
        {
            return base.Export(activityBatch);
        }
        finally
        {
            Interlocked.Add(ref _waiting, -count);
        }
    }
}
