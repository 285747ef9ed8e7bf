using System.Diagnostics.Metrics;

namespace Tunnel2.Telemetry.Relay;

/// <summary>The relay's instruments. Safe on any thread.</summary>
internal sealed class RelayMetrics
{
    /// <summary>Name of the meter that a host creates for the relay.</summary>
    internal const string MeterName = "Tunnel2.Telemetry.Relay";

    private readonly UpDownCounter<long> _clients;
    private readonly Counter<long> _bytes;
    private readonly Counter<long> _records;
    private readonly Counter<long> _missed;
    private readonly Counter<long> _warned;
    private readonly Counter<long> _closed;

    internal RelayMetrics(Meter meter, TimeProvider time, TimeSpan window)
    {
        Loop = new QuantileWindow(time, window);
        Send = new QuantileWindow(time, window);
        _clients = meter.CreateUpDownCounter<long>("tunnel2.relay.clients", "{client}", "Clients that have been welcomed.");
        _bytes = meter.CreateCounter<long>("tunnel2.relay.sent", "By", "Bytes handed to clients' sockets.");
        _records = meter.CreateCounter<long>("tunnel2.relay.records", "{record}", "Records read from the ring.");
        _missed = meter.CreateCounter<long>(
            "tunnel2.relay.missed", "{record}", "Records that the relay itself or a resuming client missed.");
        _warned = meter.CreateCounter<long>("tunnel2.relay.slow_warnings", "{warning}", "Warnings to slow clients.");
        _closed = meter.CreateCounter<long>("tunnel2.relay.closed", "{client}", "Connections that ended, by reason.");
        meter.CreateObservableGauge(
            "tunnel2.relay.loop.duration", () => Quantiles(Loop), "s", "One turn of the pump, over the last window.");
        meter.CreateObservableGauge(
            "tunnel2.relay.send.duration", () => Quantiles(Send), "s", "One send to one client, over the last window.");
    }

    internal QuantileWindow Loop { get; }

    internal QuantileWindow Send { get; }

    /// <summary>Counts bytes that were given to clients' sockets.</summary>
    internal Instrument SentBytes => _bytes;

    internal void ClientJoined() => _clients.Add(1);

    internal void ClientLeft(RelayCloseReason reason, bool welcomed)
    {
        _closed.Add(1, new KeyValuePair<string, object?>("reason", reason.ToString()));
        if (welcomed)
        {
            _clients.Add(-1);
        }
    }

    internal void Sent(long bytes) => _bytes.Add(bytes);

    internal void Read(long records) => _records.Add(records);

    internal void Missed(long records) => _missed.Add(records);

    internal void Warned() => _warned.Add(1);

    private static Measurement<double>[] Quantiles(QuantileWindow window)
    {
        (double p50, double p95, double p99, _) = window.Read();
        return [Of(p50, 0.5), Of(p95, 0.95), Of(p99, 0.99)];

        static Measurement<double> Of(double value, double q) => new(value, new KeyValuePair<string, object?>("quantile", q));
    }
}
