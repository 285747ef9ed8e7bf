namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The checked settings of <see cref="TelemetryOptions"/>. Immutable.</summary>
internal sealed record TelemetrySettings
{
    /// <summary>Nothing is told to anybody.</summary>
    public static TelemetrySettings Off { get; } = new();

    /// <summary>The collector, or null for none.</summary>
    public Uri? OtlpEndpoint { get; init; }

    /// <summary>How often metrics are sent.</summary>
    public TimeSpan OtlpInterval { get; init; } = TimeSpan.FromSeconds(15);

    /// <summary>The share of requests that are traced; 0 without a collector.</summary>
    public double SampleRatio { get; init; }

    /// <summary>How many requests a second are traced in the long run.</summary>
    public int MaxTracesPerSecond { get; init; } = 1000;

    /// <summary>Which responses carry <c>Server-Timing</c>.</summary>
    public ServerTimingMode ServerTiming { get; init; }
}
