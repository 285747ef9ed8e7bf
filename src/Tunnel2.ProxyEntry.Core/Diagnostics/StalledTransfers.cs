using System.Diagnostics.Metrics;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>
/// Metrics of the bytes that ProxyEntry holds because visitors have not read them. When transfers were cut because of that, it also logs a
/// line, at most once a second. Thread-safe.
/// </summary>
internal sealed class StalledTransfers : IDisposable
{
    public StalledTransfers(
        ProxyEntrySettings settings, IMeterFactory factory, TimeProvider timeProvider, ContainedFaults faults,
        ILogger<StalledTransfers> logger)
    {
        Budget = new ReceiveBudget(settings.BufferBytes ?? ReceiveBudget.DefaultLimit, timeProvider, faults);
        Budget.StreamsCut += count =>
            ProxyEntryLog.StalledTransfersCut(logger, count, Budget.Held / (1024 * 1024), Budget.Limit / (1024 * 1024));
        var meter = factory.Create(ProxyEntryMetrics.MeterName);
        meter.CreateObservableGauge(
            "tunnel2.entry.receive.held",
            () => Budget.Held,
            "By",
            "Bytes from agents that visitors have not read, in portions of 256 KiB; the first portion of each uplink is not counted.");
        meter.CreateObservableGauge(
            "tunnel2.entry.receive.limit", () => Budget.Limit, "By", "Bytes that may be held before stalled transfers are cut.");
        meter.CreateObservableCounter(
            "tunnel2.entry.receive.cut",
            () => Budget.CutStreams,
            "{stream}",
            "Transfers that were cut because they stalled and memory was short.");
    }

    /// <summary>The budget of all uplinks of this host.</summary>
    public ReceiveBudget Budget { get; }

    /// <inheritdoc/>
    public void Dispose() => Budget.Dispose();
}
