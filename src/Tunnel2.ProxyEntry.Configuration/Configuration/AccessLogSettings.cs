namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Which requests the access log has.</summary>
public enum AccessLogMode
{
    /// <summary>None.</summary>
    Off = 0,

    /// <summary>A share of them, and all that the tunnel itself failed.</summary>
    Sampled,

    /// <summary>All.</summary>
    Full,
}

/// <summary>How a line of the access log looks.</summary>
public enum AccessLogFormat
{
    /// <summary>One JSON object.</summary>
    Json = 0,

    /// <summary>Columns, separated by single spaces.</summary>
    Text,
}

/// <summary>The checked settings of the access log; <see cref="AccessLogOptions"/> says what each means. Immutable.</summary>
internal sealed record AccessLogSettings
{
    /// <summary>The path that stands for the standard output.</summary>
    public const string StandardOutput = "stdout";

    public static AccessLogSettings Off { get; } = new();

    public AccessLogMode Mode { get; init; }

    public AccessLogFormat Format { get; init; }

    /// <summary>The file's full path, or null for the standard output.</summary>
    public string? FilePath { get; init; }

    public double SampleRate { get; init; } = 1;

    public long MaxFileBytes { get; init; } = long.MaxValue;

    public int MaxFiles { get; init; } = 1;

    public bool IncludesQuery { get; init; }
}
