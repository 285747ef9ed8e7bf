using System.Diagnostics.Metrics;
using System.Globalization;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>
/// What the uplinks do, added up over all sessions by <c>slot</c> (which of its session's uplinks one is, so at most
/// <see cref="TunnelSession.MaxUplinks"/> values): equal numbers in equal slots mean balance. Read from the uplinks' own counters when
/// somebody asks, so that it costs the data plane nothing. Thread-safe.
/// </summary>
internal sealed class UplinkMetrics
{
    private static readonly KeyValuePair<string, object?>[] _slots =
        [.. Enumerable.Range(0, TunnelSession.MaxUplinks).Select(static slot => new KeyValuePair<string, object?>("slot", slot.ToString(CultureInfo.InvariantCulture)))];

    private readonly Lock _gate = new();
    private readonly HashSet<UplinkConnection> _uplinks = [];
    private readonly Totals[] _ended = new Totals[TunnelSession.MaxUplinks];
    private readonly Counter<long> _refused;

    public UplinkMetrics(IMeterFactory factory)
    {
        var meter = factory.Create(ProxyEntryMetrics.MeterName);
        meter.CreateObservableGauge("tunnel2.entry.uplinks.active", () => Observe(static totals => totals.Active), "{uplink}", "Agents' connections that stand.");
        meter.CreateObservableGauge("tunnel2.entry.uplink.streams.active", () => Observe(static totals => totals.OpenStreams), "{stream}", "Streams open on the uplinks.");
        meter.CreateObservableGauge("tunnel2.entry.uplink.outstanding", () => Observe(static totals => totals.Outstanding), "By", "Bytes sent to agents for which no credit came back yet.");
        meter.CreateObservableGauge("tunnel2.entry.uplinks.stalled", () => Observe(static totals => totals.Stalled), "{uplink}", "Uplinks that get no new streams because nothing shows that bytes arrive.");
        meter.CreateObservableCounter("tunnel2.entry.uplink.streams", () => Observe(static totals => totals.Streams), "{stream}", "Streams opened on the uplinks.");
        meter.CreateObservableCounter("tunnel2.entry.uplink.sent", () => Observe(static totals => totals.Sent), "By", "Bytes sent to agents, frames included.");
        meter.CreateObservableCounter("tunnel2.entry.uplink.received", () => Observe(static totals => totals.Received), "By", "Bytes received from agents, frames included.");
        _refused = meter.CreateCounter<long>("tunnel2.entry.uplinks.refused", "{uplink}", "Further uplinks of sessions that were turned away.");
    }

    public void Add(UplinkConnection uplink)
    {
        lock (_gate)
        {
            _uplinks.Add(uplink);
        }
    }

    /// <summary>An uplink has ended: what it did stays in the sums.</summary>
    public void Remove(UplinkConnection uplink)
    {
        lock (_gate)
        {
            if (_uplinks.Remove(uplink))
            {
                AddDone(ref _ended[uplink.Slot], uplink);
            }
        }
    }

    /// <summary>A JOIN was refused.</summary>
    /// <param name="reason">One of the codes of REJECT.</param>
    public void JoinRefused(string reason) => _refused.Add(1, new KeyValuePair<string, object?>("error.type", reason));

    private List<Measurement<long>> Observe(Func<Totals, long> value)
    {
        var sums = new Totals[TunnelSession.MaxUplinks];
        lock (_gate)
        {
            _ended.CopyTo(sums, 0);
            foreach (var uplink in _uplinks)
            {
                ref var sum = ref sums[uplink.Slot];
                AddDone(ref sum, uplink);
                sum.Active++;
                sum.OpenStreams += uplink.OpenStreams;
                sum.Outstanding += uplink.Writer.OutstandingBytes;
                sum.Stalled += uplink.IsStalled(uplink.Settings.TimeProvider.GetTimestamp()) ? 1 : 0;
            }
        }

        var measurements = new List<Measurement<long>>();
        for (var slot = 0; slot < sums.Length; slot++)
        {
            if (sums[slot].WasUsed)
            {
                measurements.Add(new Measurement<long>(value(sums[slot]), _slots[slot]));
            }
        }

        return measurements;
    }

    private static void AddDone(ref Totals totals, UplinkConnection uplink)
    {
        totals.WasUsed = true;
        totals.Sent += uplink.Statistics.BytesSent;
        totals.Received += uplink.Statistics.BytesReceived;
        totals.Streams += uplink.Streams.Opened;
    }

    private struct Totals
    {
        public bool WasUsed;
        public long Active;
        public long OpenStreams;
        public long Outstanding;
        public long Stalled;
        public long Streams;
        public long Sent;
        public long Received;
    }
}
