namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Which requests get a line in the access log.</summary>
public enum AccessLogMode
{
    /// <summary>None.</summary>
    Off = 0,

    /// <summary>A share of the requests, and all that the tunnel itself failed.</summary>
    Sampled,

    /// <summary>All.</summary>
    Full,
}

/// <summary>The form of a line in the access log.</summary>
public enum AccessLogFormat
{
    /// <summary>One JSON object.</summary>
    Json = 0,

    /// <summary>Columns, separated by single spaces.</summary>
    Text,
}

/// <summary>The access log: one line for each finished request of a visitor. Immutable.</summary>
internal sealed class AccessLogSettings(SettingsReader read)
{
    private const string PathKey = "AccessLog:Path";
    private const string StandardOutput = "stdout";
    private const long LeastFileBytes = 4096;

    public AccessLogMode Mode { get; } = (AccessLogMode)read.Word(
        "AccessLog:Mode", "off", "a mode",
        "which requests get a line. `full`: every request; `sampled`: a share of them, and every request that the tunnel itself failed",
        "off", "sampled", "full");

    private readonly double _sampleRate = read.Share(
        "AccessLog:SampleRate", 0.01, mayBeZero: false, "with `sampled`: the share of requests that get a line");

    public AccessLogFormat Format { get; } = (AccessLogFormat)read.Word(
        "AccessLog:Format", "json", "a format", "the form of a line", "json", "text");

    private readonly string _path = read.Value<string>(
        PathKey, StandardOutput, "a file, stdout", "where the lines go; the folder of the file must exist", SettingValues.ParseText!);

    public long MaxFileBytes { get; } = read.Value(
        "AccessLog:MaxFileBytes", "64MB", "4KB or more; bytes, or KB, MB, GB of 1024",
        "a file that would get larger is renamed to `.1`, `.1` to `.2`, and so on",
        static (string text, out long value) => SettingValues.ParseSize(text, LeastFileBytes, out value));

    public int MaxFiles { get; } = read.Number("AccessLog:MaxFiles", 5, 1, 1000, "how many files are kept, the current one included");

    public bool IncludesQuery { get; } = read.Switch(
        "AccessLog:Query", false,
        "whether the query is logged: queries carry tokens and personal data. The live view has its own `Live:Query`");

    /// <summary>The file's full path, or null for the standard output.</summary>
    public string? FilePath { get; private set; }

    /// <summary>The share of requests that get a line; requests that the tunnel itself failed always get one.</summary>
    public double SampleRate => Mode == AccessLogMode.Full ? 1 : _sampleRate;

    /// <summary>
    /// Finds the file's path. Whether the file can be written is not checked, because a full disk must not keep a server from starting.
    /// </summary>
    public void Check(SettingsReader read)
    {
        if (Mode == AccessLogMode.Off || _path.Equals(StandardOutput, StringComparison.OrdinalIgnoreCase))
        {
            return;
        }

        var quoted = SettingsErrorFormatter.Quote(_path);
        try
        {
            FilePath = Path.GetFullPath(_path);
            if (Directory.Exists(FilePath))
            {
                read.Report(PathKey, $"{quoted} is a folder; give the file in it.");
            }
            else if (!Directory.Exists(Path.GetDirectoryName(FilePath)))
            {
                read.Report(PathKey, $"{quoted} is in a folder that does not exist.");
            }
        }
        catch (Exception exception) when (exception is ArgumentException or PathTooLongException)
        {
            read.Report(PathKey, $"{quoted} is not a path.");
        }
    }
}
