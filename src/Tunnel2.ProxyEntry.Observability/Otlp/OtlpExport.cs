using System.Reflection;
using System.Runtime.CompilerServices;
using OpenTelemetry;
using OpenTelemetry.Exporter;
using OpenTelemetry.Metrics;
using OpenTelemetry.Resources;
using OpenTelemetry.Trace;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Tracing;

namespace Tunnel2.ProxyEntry.Otlp;

/// <summary>
/// Sends metrics and spans to a collector by OTLP over HTTP, on its own threads, so the collector never holds up requests. Data that the
/// collector does not accept are lost and counted. Thread-safe.
/// </summary>
internal sealed class OtlpExport : IAsyncDisposable
{
    private const int TimeoutMilliseconds = 3000;

    private readonly MeterProvider _metrics;
    private readonly TracerProvider? _traces;

    private OtlpExport(MeterProvider metrics, TracerProvider? traces)
    {
        _metrics = metrics;
        _traces = traces;
    }

    /// <summary>Starts sending. Without a collector in the settings it returns null, and nothing of OpenTelemetry is loaded.</summary>
    public static OtlpExport? Start(ProxyEntrySettings settings, ProxyEntryMetrics metrics) =>
        settings.Telemetry.OtlpEndpoint is { } endpoint ? Create(settings, endpoint, metrics) : null;

    /// <summary>Sends what is left of both kinds at once, for a few seconds at most, and stops.</summary>
    public async ValueTask DisposeAsync()
    {
        // Each blocks until the collector has answered.
        var traces = Task.Run(() => _traces?.Dispose());
        await Task.Run(_metrics.Dispose).ConfigureAwait(false);
        await traces.ConfigureAwait(false);
    }

    // A separate method, because compiling it loads the types that it names.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static OtlpExport Create(ProxyEntrySettings settings, Uri endpoint, ProxyEntryMetrics metrics)
    {
        var version = typeof(OtlpExport).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion;
        var resource = ResourceBuilder.CreateDefault().AddService(
            "tunnel2-entry", serviceVersion: version, autoGenerateServiceInstanceId: false, serviceInstanceId: settings.EntryId);
        var meters = Sdk.CreateMeterProviderBuilder()
            .SetResourceBuilder(resource)
            .AddMeter("Tunnel2.*", "System.Runtime")
            .AddReader(new PeriodicExportingMetricReader(
                new OtlpMetricExporter(OptionsFor(endpoint, "metrics", metrics)),
                (int)settings.Telemetry.OtlpInterval.TotalMilliseconds,
                TimeoutMilliseconds))
            .Build();
        var traces = settings.Telemetry.SampleRatio == 0 ? null : Sdk.CreateTracerProviderBuilder()
            .SetResourceBuilder(resource)
            .AddSource(RequestTracer.SourceName)
            .SetSampler(new AlwaysOnSampler()) // a request that is not sampled never has a span
            .AddProcessor(
                new BoundedSpanProcessor(new CountedSpanExporter(OptionsFor(endpoint, "traces", metrics)), TimeoutMilliseconds, metrics))
            .Build();
        return new OtlpExport(meters, traces);
    }

    private static OtlpExporterOptions OptionsFor(Uri endpoint, string signal, ProxyEntryMetrics metrics) => new()
    {
        Protocol = OtlpExportProtocol.HttpProtobuf,
        Endpoint = new Uri($"{endpoint.AbsoluteUri.TrimEnd('/')}/v1/{signal}"),
        TimeoutMilliseconds = TimeoutMilliseconds,
        HttpClientFactory = () =>
            new HttpClient(new CountingHandler(signal, metrics)) { Timeout = TimeSpan.FromMilliseconds(TimeoutMilliseconds) },
    };
}
