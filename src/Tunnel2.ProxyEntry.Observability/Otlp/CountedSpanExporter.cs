using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Exporter;

namespace Tunnel2.ProxyEntry.Otlp;

/// <summary>Knows how many spans wait for the collector, those on their way to it included. Thread-safe.</summary>
internal sealed class CountedSpanExporter : OtlpTraceExporter
{
    private long _waiting;

    /// <param name="options">Where it sends to.</param>
    public CountedSpanExporter(OtlpExporterOptions options)
        : base(options)
    {
    }

    /// <summary>One more waits, unless as many do as may.</summary>
    /// <param name="most">As many as may.</param>
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
