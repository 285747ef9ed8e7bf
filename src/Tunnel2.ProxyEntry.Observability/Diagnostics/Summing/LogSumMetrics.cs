using System.Diagnostics.Metrics;

namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>Counts the log lines that were not written, in the meter of <see cref="ProxyEntryMetrics"/>.</summary>
internal sealed class LogSumMetrics
{
    public LogSumMetrics(IMeterFactory factory, LogSums sums) =>
        factory.Create(ProxyEntryMetrics.MeterName).CreateObservableCounter(
            "tunnel2.entry.log.suppressed",
            () => sums.Suppressed,
            "{line}",
            "Log lines that were counted and not written, because there were many of their kind.");
}
