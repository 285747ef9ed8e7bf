using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// Where the settings come from: files, environment and command line, read as a whole each time. Configuration's own reload would leave a
/// broken file's section empty, and so take every agent's token away. Used by one thread at a time.
/// </summary>
internal sealed class SettingsSource : ISettingsSource
{
    private readonly string[] _args;
    private readonly IReadOnlyList<KeyValuePair<string, string?>> _facts;
    private readonly bool[] _present;

    /// <param name="files">The settings files, the last wins; each may be missing.</param>
    /// <param name="args">The command line.</param>
    /// <param name="facts">What holds whatever the others say: where the sockets listen that were handed over. Null: nothing.</param>
    public SettingsSource(IReadOnlyList<string> files, string[] args, IReadOnlyList<KeyValuePair<string, string?>>? facts = null)
    {
        Files = files;
        _args = args;
        _facts = facts ?? [];

        // Before the first reading: what changes between it and the first look is then a change as well.
        Watch = new WatchedFiles(files);
        _present = [.. files.Select(File.Exists)];
    }

    /// <summary>The files that may change.</summary>
    public IReadOnlyList<string> Files { get; }

    /// <summary>Tells that they did, beginning before they were first read.</summary>
    public WatchedFiles Watch { get; }

    IChangeWatch ISettingsSource.Watch => Watch;

    /// <summary>The <see cref="FixedValues"/> of the first reading, which the process runs with; null before it.</summary>
    public Dictionary<string, string?>? FirstRead { get; private set; }

    /// <summary>The source of a process: the program's own appsettings.json, then that of the folder it was started in.</summary>
    public static SettingsSource OfProcess(string[] args, IReadOnlyList<KeyValuePair<string, string?>>? facts = null) => new(
        [
            .. new[]
            {
                Path.Combine(AppContext.BaseDirectory, "appsettings.json"),
                Path.Combine(Environment.CurrentDirectory, "appsettings.json"),
            }.Distinct(),
        ],
        args,
        facts);

    /// <summary>Reads everything.</summary>
    /// <exception cref="InvalidDataException">A file is not JSON.</exception>
    /// <exception cref="IOException">A file cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read a file.</exception>
    public IConfigurationRoot Read()
    {
        var builder = new ConfigurationBuilder();
        foreach (var file in Files)
        {
            builder.AddJsonFile(file, optional: true);
        }

        var configuration = builder.AddEnvironmentVariables().AddCommandLine(_args).AddInMemoryCollection(_facts).Build();
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
                // A file that went away is an accident, or is being replaced; that no agent may connect any more is said by an empty list.
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

    /// <summary>The values of the section that a reload leaves as they are.</summary>
    public static Dictionary<string, string?> FixedValues(IConfiguration configuration) => configuration
        .GetSection(SettingKeys.Section)
        .AsEnumerable(makePathsRelative: true)
        .Where(static pair => pair.Value is not null && !SettingsLoader.MayChange(pair.Key))
        .ToDictionary(StringComparer.OrdinalIgnoreCase);
}
