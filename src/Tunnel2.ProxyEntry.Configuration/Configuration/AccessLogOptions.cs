namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The access log: keys <c>Tunnel2:AccessLog:*</c>. One line per finished request of a visitor.</summary>
public sealed class AccessLogOptions
{
    /// <summary>The lowest <see cref="MaxFileBytes"/>.</summary>
    public const long MinMaxFileBytes = 4096;

    /// <summary>Which requests get a line. Default off.</summary>
    public AccessLogMode Mode { get; set; } = AccessLogMode.Off;

    /// <summary>How a line looks. Default JSON.</summary>
    public AccessLogFormat Format { get; set; } = AccessLogFormat.Json;

    /// <summary><c>stdout</c> (default) or a file. The file's folder has to exist.</summary>
    public string Path { get; set; } = AccessLogSettings.StandardOutput;

    /// <summary>
    /// With <see cref="AccessLogMode.Sampled"/>, the share of requests that get a line: above 0, up to 1. Default 0.01. Requests that the
    /// tunnel itself failed always get one.
    /// </summary>
    public double SampleRate { get; set; } = 0.01;

    /// <summary>A file larger than this is put aside and a new one begun: 4 KiB or more. Default 64 MiB.</summary>
    public long MaxFileBytes { get; set; } = 64 * 1024 * 1024;

    /// <summary>How many files are kept, the current one included: 1 to 1000. Default 5.</summary>
    public int MaxFiles { get; set; } = 5;

    /// <summary>Whether the query is logged with the path. Default false: queries carry tokens and personal data.</summary>
    public bool Query { get; set; }
}
