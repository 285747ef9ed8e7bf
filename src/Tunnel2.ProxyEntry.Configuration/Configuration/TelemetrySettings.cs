namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>OTLP, traces and <c>Server-Timing</c>. Immutable.</summary>
internal sealed class TelemetrySettings(SettingsReader read)
{
    private const string SampleRatioKey = "Tracing:SampleRatio";

    public Uri? OtlpEndpoint { get; } = read.Value<Uri?>(
        "Otlp:Endpoint", null, "an http or https URL",
        "a collector such as `http://127.0.0.1:4318`. It gets metrics, and traces if there are any, by OTLP over HTTP (protobuf) at "
        + "`/v1/metrics` and `/v1/traces`. Without it nothing of OpenTelemetry is loaded",
        ParseCollector, isSecret: true);

    public TimeSpan OtlpInterval { get; } = read.Duration("Otlp:Interval", "15s", "1s", "1h", "how often metrics are sent");

    public double SampleRatio { get; } = read.Share(
        SampleRatioKey, 0, mayBeZero: true, "the share of requests that are traced; needs `Otlp:Endpoint`");

    public int MaxTracesPerSecond { get; } = read.Number(
        "Tracing:MaxPerSecond", 1000, 1, 1_000_000,
        "how many requests a second are traced in the long run, by any rule; after a pause as many again at once. The others are counted");

    public ServerTimingMode ServerTiming { get; } = (ServerTimingMode)read.Word(
        "ServerTiming", "off", "a mode",
        "which responses report where their time went, as `Server-Timing`; `on-request`: those to requests with the field `Tunnel2-Timing`",
        "off", "on-request", "always");

    /// <summary>Reports settings that have no effect together.</summary>
    public void Check(SettingsReader read)
    {
        if (SampleRatio > 0 && !read.IsGiven("Otlp:Endpoint"))
        {
            read.Report(SampleRatioKey, "needs Tunnel2:Otlp:Endpoint, which gets the traces.");
        }
    }

    // A wrong value may contain a password, so no message shows it.
    private static string? ParseCollector(string text, out Uri? value) =>
        Uri.TryCreate(text.Trim(), UriKind.Absolute, out value) && value.Scheme is "http" or "https" && value.UserInfo.Length == 0
            ? null
            : "is not an address such as http://127.0.0.1:4318.";
}
