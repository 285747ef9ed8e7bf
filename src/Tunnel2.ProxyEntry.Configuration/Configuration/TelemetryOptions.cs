namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>What is told about requests to collectors and visitors: keys <c>Tunnel2:Otlp:*</c>, <c>Tunnel2:Tracing:*</c> and <c>Tunnel2:ServerTiming</c>.</summary>
public sealed class TelemetryOptions
{
    /// <summary>
    /// The collector that gets metrics and traces by OTLP over HTTP (protobuf), such as <c>http://127.0.0.1:4318</c>. Default none: nothing of it
    /// is loaded. One that is down costs a counter, <c>tunnel2.entry.otlp.exports</c>. Fields that it asks for go into the environment, <c>OTEL_EXPORTER_OTLP_HEADERS</c>.
    /// </summary>
    public string? OtlpEndpoint { get; set; }

    /// <summary>How often metrics are sent, 1 s to 1 h. Default 15 s.</summary>
    public TimeSpan OtlpInterval { get; set; } = TimeSpan.FromSeconds(15);

    /// <summary>
    /// The share of requests that are traced, 0 to 1. Default 0: none at all. It needs <see cref="OtlpEndpoint"/>. Above 0, requests of <c>TrustedProxies</c> that have a
    /// <c>traceparent</c> are traced when that says so instead. Neither goes beyond <see cref="MaxTracesPerSecond"/>.
    /// </summary>
    public double SampleRatio { get; set; }

    /// <summary>
    /// How many requests a second are traced in the long run, whoever wants them traced, 1 to 1,000,000; after a pause as many again at once.
    /// Default 1000. The others are counted, <c>tunnel2.entry.traces.limited</c>.
    /// </summary>
    public int MaxTracesPerSecond { get; set; } = 1000;

    /// <summary>Which responses carry <c>Server-Timing</c>. Default <c>off</c>.</summary>
    public ServerTimingMode ServerTiming { get; set; }
}
