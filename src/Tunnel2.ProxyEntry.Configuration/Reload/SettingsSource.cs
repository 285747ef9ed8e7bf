using System.Text.Json;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// The source of the settings: files, environment and command line, read as a whole each time. The reload of .NET's configuration would
/// leave the section of a broken file empty, and so remove every agent's token. Used by one thread at a time.
/// </summary>
internal sealed class SettingsSource : ISettingsSource
{
    private readonly string[] _args;
    private readonly IReadOnlyList<KeyValuePair<string, string?>> _facts;
    private readonly bool[] _present;

    /// <param name="files">The settings files, of which the last wins; each may be missing.</param>
    /// <param name="args">The command line.</param>
    /// <param name="facts">Values that win over all others: the addresses of sockets that were handed over. Null: none.</param>
    public SettingsSource(IReadOnlyList<string> files, string[] args, IReadOnlyList<KeyValuePair<string, string?>>? facts = null)
    {
        Files = files;
        _args = args;
        _facts = facts ?? [];

        // Before the first reading, so that a change between it and the first look is also seen.
        Watch = new WatchedFiles(files);
        _present = [.. files.Select(File.Exists)];
    }

    /// <summary>The files that may change.</summary>
    public IReadOnlyList<string> Files { get; }

    /// <summary>Notices their changes, from before the first reading on.</summary>
    public WatchedFiles Watch { get; }

    IChangeWatch ISettingsSource.Watch => Watch;

    /// <summary>The <see cref="FixedValues"/> of the first reading, with which the process runs; null before it.</summary>
    public Dictionary<string, string?>? FirstRead { get; private set; }

    /// <summary>The source of a process: the program's own appsettings.json, then that of the working directory.</summary>
    /// <exception cref="IOException">The working directory was removed.</exception>
    public static SettingsSource OfProcess(string[] args, IReadOnlyList<KeyValuePair<string, string?>>? facts = null) => new(
        [
            .. new[]
            {
                Path.Combine(AppContext.BaseDirectory, "appsettings.json"),
                Path.Combine(WorkingFolder(), "appsettings.json"),
            }.Distinct(),
        ],
        args,
        facts);

    /// <summary>Reads all settings.</summary>
    /// <exception cref="InvalidDataException">A file is not JSON.</exception>
    /// <exception cref="IOException">A file cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read a file.</exception>
    public IConfigurationRoot Read()
    {
        var builder = new ConfigurationBuilder();
        foreach (var file in Files)
        {
            if (File.Exists(file))
            {
                Look(file);
            }

            builder.AddJsonFile(file, optional: true);
        }

        var configuration = Build(builder.AddEnvironmentVariables().AddCommandLine(_args).AddInMemoryCollection(_facts));
        FirstRead ??= FixedValues(configuration);
        return configuration;
    }

    IConfiguration ISettingsSource.Read() => Read();

    /// <inheritdoc/>
    public ReloadProblem? FindLoss()
    {
        for (var i = 0; i < _present.Length; i++)
        {
            if (_present[i] && !File.Exists(Files[i]))
            {
                // A missing file is an accident, or is being replaced. To let no agent connect, the operator removes the entries.
                return new ReloadProblem(Files[i], "the file is gone");
            }
        }

        return null;
    }

    /// <inheritdoc/>
    public void Accept()
    {
        for (var i = 0; i < _present.Length; i++)
        {
            _present[i] |= File.Exists(Files[i]);
        }
    }

    /// <summary>The values of the section that a reload does not change.</summary>
    public static Dictionary<string, string?> FixedValues(IConfiguration configuration) => configuration
        .GetSection(SettingKeys.Section)
        .AsEnumerable(makePathsRelative: true)
        .Where(static pair => pair.Value is not null && !SettingsLoader.MayChange(pair.Key))
        .ToDictionary(StringComparer.OrdinalIgnoreCase);

    /// <summary>Of .NET's exceptions the outermost has the file, and the innermost the place, beside what may be a secret.</summary>
    private static IConfigurationRoot Build(IConfigurationBuilder builder)
    {
        try
        {
            return builder.Build();
        }
        catch (InvalidDataException exception)
        {
            var reason = exception.GetBaseException() is JsonException { LineNumber: { } line, BytePositionInLine: { } place }
                ? FormattableString.Invariant($"It is not JSON: line {line + 1}, byte {place + 1}.")
                : exception.InnerException?.Message;
            throw new InvalidDataException($"{exception.Message} {reason}".TrimEnd());
        }
    }

    private static void Look(string file)
    {
        try
        {
            SettingFile.Require(file);
        }
        catch (IOException exception)
        {
            throw new IOException($"{file} cannot be read: {exception.Message}", exception.InnerException);
        }
    }

    private static string WorkingFolder()
    {
        try
        {
            return Environment.CurrentDirectory;
        }
        catch (FileNotFoundException)
        {
            throw new IOException("The working directory was removed: change to one that exists.");
        }
    }
}
