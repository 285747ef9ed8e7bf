using System.Diagnostics.Metrics;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>Counts contained faults, in the meter of <see cref="ProxyEntryMetrics"/>.</summary>
internal sealed class FaultMetrics
{
    public FaultMetrics(IMeterFactory factory, ContainedFaults faults) =>
        factory.Create(ProxyEntryMetrics.MeterName).CreateObservableCounter(
            "tunnel2.entry.faults.contained",
            () => faults.Count,
            "{fault}",
            "Faults of ProxyEntry's own that cost a connection, or nothing, and not the process.");
}
