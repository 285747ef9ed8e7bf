using System.Diagnostics.Metrics;
using System.Globalization;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>
/// Metrics of uplinks, summed over all sessions by <c>slot</c>: the uplink's position in its session, so at most
/// <see cref="TunnelSession.MaxUplinks"/> values. Equal numbers in all slots mean balance. The values are read from the uplinks' own
/// counters at each scrape, which costs the data plane nothing. Thread-safe.
/// </summary>
internal sealed class UplinkMetrics
{
    private static readonly KeyValuePair<string, object?>[] _slots =
        [
            .. Enumerable.Range(0, TunnelSession.MaxUplinks).Select(
                static slot => new KeyValuePair<string, object?>("slot", slot.ToString(CultureInfo.InvariantCulture))),
        ];

    private static readonly KeyValuePair<string, object?>[] _flushSizes =
        [
            .. UplinkStatistics.FlushSizeBounds.Select(static bound => bound.ToString(CultureInfo.InvariantCulture))
                .Append("+Inf")
                .Select(static bound => new KeyValuePair<string, object?>("size", bound)),
        ];

    private readonly Lock _gate = new();
    private readonly HashSet<UplinkConnection> _uplinks = [];
    private readonly UplinkTotals[] _ended = new UplinkTotals[TunnelSession.MaxUplinks];
    private readonly Counter<long> _refused;
    private long _webSockets;

    public UplinkMetrics(IMeterFactory factory)
    {
        var meter = factory.Create(ProxyEntryMetrics.MeterName);
        meter.CreateObservableGauge(
            "tunnel2.entry.uplinks.active", () => Observe(static totals => totals.Active), "{uplink}", "Open connections of agents.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplinks.websocket",
            () => Volatile.Read(ref _webSockets),
            "{uplink}",
            "Those of them that came over WebSocket to a public listener.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplink.streams.active",
            () => Observe(static totals => totals.OpenStreams),
            "{stream}",
            "Streams open on the uplinks.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplink.outstanding",
            () => Observe(static totals => totals.Outstanding),
            "By",
            "Bytes sent to agents for which no credit came back yet.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplinks.stalled",
            () => Observe(static totals => totals.Stalled),
            "{uplink}",
            "Uplinks that get no new streams because nothing shows that bytes arrive.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplink.streams.waiting",
            () => Observe(static totals => totals.WaitingStreams),
            "{stream}",
            "Streams that have something to send and wait for their turn or for the uplink's credit.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplink.pending",
            () => Observe(static totals => totals.Pending),
            "By",
            "Bytes of running sends, not yet taken by the kernel.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplink.window.growth",
            () => Observe(static totals => totals.WindowGrowth),
            "By",
            "Bytes by which the receive windows of open streams have grown.");
        meter.CreateObservableGauge(
            "tunnel2.entry.uplink.round_trip", ObserveRoundTrips, "s", "The last PING's round trip, over all uplinks.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.streams", () => Observe(static totals => totals.Streams), "{stream}", "Streams opened on the uplinks.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.sent", () => Observe(static totals => totals.Sent), "By", "Bytes sent to agents, frames included.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.received",
            () => Observe(static totals => totals.Received),
            "By",
            "Bytes received from agents, frames included.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.frames.sent", () => Observe(static totals => totals.FramesSent), "{frame}", "Frames sent to agents.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.frames.received",
            () => Observe(static totals => totals.FramesReceived),
            "{frame}",
            "Frames received from agents.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.receives", () => Observe(static totals => totals.Receives), "{receive}", "Receives that brought bytes.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.flushes",
            ObserveFlushes,
            "{flush}",
            "Sends to agents, by their size: each counts in the smallest size it fits in.");
        meter.CreateObservableCounter(
            "tunnel2.entry.uplink.credit_waits",
            () => Observe(static totals => totals.CreditWaits),
            "{wait}",
            "How often a stream had bytes to send and no credit for them.");
        meter.CreateObservableGauge(
            "tunnel2.entry.buffers.outstanding",
            static () => BufferPool.Shared.Outstanding,
            "{buffer}",
            "Buffers of the data plane that are rented and not returned.");
        _refused = meter.CreateCounter<long>(
            "tunnel2.entry.uplinks.refused", "{uplink}", "Further uplinks of sessions that were turned away.");
    }

    public void Add(UplinkConnection uplink)
    {
        lock (_gate)
        {
            _uplinks.Add(uplink);
        }
    }

    /// <summary>An uplink has ended; what it counted stays in the sums.</summary>
    public void Remove(UplinkConnection uplink)
    {
        lock (_gate)
        {
            if (_uplinks.Remove(uplink))
            {
                _ended[uplink.Slot].AddDone(uplink);
            }
        }
    }

    /// <summary>An uplink that came over WebSocket begins or has ended.</summary>
    /// <param name="change">1 or −1.</param>
    public void ChangeWebSockets(int change) => Interlocked.Add(ref _webSockets, change);

    /// <summary>A JOIN was refused.</summary>
    /// <param name="reason">One of the codes of REJECT.</param>
    public void JoinRefused(string reason) => _refused.Add(1, new KeyValuePair<string, object?>("error.type", reason));

    /// <summary>What all uplinks hold now.</summary>
    public UplinkReading Read()
    {
        var (streams, waiting, outstanding, stalled) = (0L, 0L, 0L, 0);
        var (answered, sum, most) = (0, TimeSpan.Zero, TimeSpan.Zero);
        lock (_gate)
        {
            foreach (var uplink in _uplinks)
            {
                streams += uplink.OpenStreams;
                waiting += uplink.Sending.WaitingStreams;
                outstanding += uplink.Sending.OutstandingBytes;
                stalled += uplink.IsStalled(uplink.Settings.TimeProvider.GetTimestamp()) ? 1 : 0;
                if (uplink.RoundTrip.Last is var last && last > TimeSpan.Zero)
                {
                    answered++;
                    sum += last;
                    most = last > most ? last : most;
                }
            }

            return new UplinkReading(
                _uplinks.Count, streams, waiting, outstanding, stalled, answered == 0 ? TimeSpan.Zero : sum / answered, most);
        }
    }

    private List<Measurement<long>> Observe(Func<UplinkTotals, long> value)
    {
        var sums = Sum();
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

    /// <summary>
    /// No instrument accepts a histogram that is already counted. So each bucket is a counter of its own: by size, all slots together.
    /// </summary>
    private IEnumerable<Measurement<long>> ObserveFlushes()
    {
        var counts = new long[_flushSizes.Length];
        foreach (var totals in Sum())
        {
            for (var i = 0; i < totals.Flushes.Length; i++)
            {
                counts[i] += totals.Flushes[i];
            }
        }

        return counts.Select(static (count, i) => new Measurement<long>(count, _flushSizes[i]));
    }

    private List<Measurement<double>> ObserveRoundTrips()
    {
        var (count, sum, least, most) = (0, TimeSpan.Zero, TimeSpan.MaxValue, TimeSpan.Zero);
        lock (_gate)
        {
            foreach (var uplink in _uplinks)
            {
                var last = uplink.RoundTrip.Last;
                if (last > TimeSpan.Zero)
                {
                    count++;
                    sum += last;
                    least = last < least ? last : least;
                    most = last > most ? last : most;
                }
            }
        }

        return count == 0 ? [] :
        [
            new(least.TotalSeconds, new KeyValuePair<string, object?>("stat", "min")),
            new((sum / count).TotalSeconds, new KeyValuePair<string, object?>("stat", "mean")),
            new(most.TotalSeconds, new KeyValuePair<string, object?>("stat", "max")),
        ];
    }

    private UplinkTotals[] Sum()
    {
        lock (_gate)
        {
            var sums = Array.ConvertAll(_ended, static ended => ended.Copy());
            foreach (var uplink in _uplinks)
            {
                ref var sum = ref sums[uplink.Slot];
                sum.AddDone(uplink);
                sum.AddPresent(uplink);
            }

            return sums;
        }
    }
}
