using System.Globalization;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The keys of OTLP, traces and <c>Server-Timing</c>, and the checks of their values.</summary>
internal static class TelemetryKeys
{
    public const string OtlpEndpoint = "Otlp:Endpoint";
    public const string OtlpInterval = "Otlp:Interval";
    public const string SampleRatio = "Tracing:SampleRatio";
    public const string MaxPerSecond = "Tracing:MaxPerSecond";
    public const string ServerTiming = "ServerTiming";

    private const int LargestMaxPerSecond = 1_000_000;

    private static readonly TimeSpan _shortestInterval = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan _longestInterval = TimeSpan.FromHours(1);

    public static IReadOnlyList<SettingKey> All { get; } =
    [
        new(OtlpEndpoint, static (o, v) =>
        {
            o.Telemetry.OtlpEndpoint = v.Trim();
            return null;
        }),
        SettingKey.Duration(OtlpInterval, static (o, v) => o.Telemetry.OtlpInterval = v),
        new(SampleRatio, static (o, v) =>
        {
            if (!double.TryParse(v.Trim(), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var ratio))
            {
                return $"{SettingsErrorFormatter.Quote(v)} is not a number such as 0.01.";
            }

            o.Telemetry.SampleRatio = ratio;
            return null;
        }),
        SettingKey.Number(MaxPerSecond, static (o, v) => o.Telemetry.MaxTracesPerSecond = v),
        new(ServerTiming, static (o, v) =>
        {
            ServerTimingMode? mode = v.Trim().ToLowerInvariant() switch
            {
                "off" => ServerTimingMode.Off,
                "on-request" => ServerTimingMode.OnRequest,
                "always" => ServerTimingMode.Always,
                _ => null,
            };
            o.Telemetry.ServerTiming = mode ?? o.Telemetry.ServerTiming;
            return mode is null ? $"{SettingsErrorFormatter.Quote(v)} is not a mode; use off, on-request or always." : null;
        }),
    ];

    /// <summary>Checks the options against each other and makes the settings of them.</summary>
    /// <param name="options">The options.</param>
    /// <param name="report">Told of each mistake: the key, and what is wrong.</param>
    public static TelemetrySettings Check(TelemetryOptions options, Action<string, string> report)
    {
        Uri? endpoint = null;
        if (!string.IsNullOrEmpty(options.OtlpEndpoint)
            && (!Uri.TryCreate(options.OtlpEndpoint, UriKind.Absolute, out endpoint) || endpoint.Scheme is not ("http" or "https") || endpoint.UserInfo.Length > 0))
        {
            report(OtlpEndpoint, $"{SettingsErrorFormatter.Quote(options.OtlpEndpoint)} is not an address such as http://127.0.0.1:4318.");
        }

        if (options.OtlpInterval < _shortestInterval || options.OtlpInterval > _longestInterval)
        {
            report(OtlpInterval, "is not between 1s and 1h.");
        }

        if (options.SampleRatio is not (>= 0 and <= 1))
        {
            report(SampleRatio, "is not between 0 and 1.");
        }
        else if (options.SampleRatio > 0 && string.IsNullOrEmpty(options.OtlpEndpoint))
        {
            report(SampleRatio, "needs Tunnel2:Otlp:Endpoint: nobody would get the traces.");
        }

        if (options.MaxTracesPerSecond is < 1 or > LargestMaxPerSecond)
        {
            report(MaxPerSecond, $"is not between 1 and {LargestMaxPerSecond}.");
        }

        return new TelemetrySettings
        {
            OtlpEndpoint = endpoint,
            OtlpInterval = options.OtlpInterval,
            SampleRatio = options.SampleRatio,
            MaxTracesPerSecond = options.MaxTracesPerSecond,
            ServerTiming = options.ServerTiming,
        };
    }
}
