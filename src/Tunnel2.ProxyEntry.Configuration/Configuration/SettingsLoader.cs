namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Turns configuration into <see cref="ProxyEntrySettings"/> and reports all mistakes together, so that an operator corrects them at once.
/// </summary>
internal static class SettingsLoader
{
    /// <summary>All settings, in the order of the table.</summary>
    public static IReadOnlyList<SettingEntry> Entries { get; } = Describe();

    /// <summary>Reads section <c>Tunnel2</c>. Reads certificate files to check them; changes nothing.</summary>
    /// <param name="configuration">The root configuration, not the section.</param>
    /// <param name="files">How many files the process may have open; null: the settings are not compared with it.</param>
    public static SettingsLoadResult Load(IConfiguration configuration, int? files = null)
    {
        var read = new SettingsReader(configuration, files);
        var settings = new ProxyEntrySettings(read);
        read.ReportUnknown();
        settings.Check(read);
        return read.Errors.Count == 0 ? new SettingsLoadResult(settings, []) : new SettingsLoadResult(null, [.. read.Errors]);
    }

    /// <summary>Reads settings from pairs of key and value, relative to the section: for programs that host ProxyEntry.</summary>
    public static SettingsLoadResult Load(params IEnumerable<KeyValuePair<string, string?>> values) => Load(new ConfigurationBuilder()
        .AddInMemoryCollection(values.Select(static pair => KeyValuePair.Create($"{SettingKeys.Section}:{pair.Key}", pair.Value)))
        .Build());

    /// <summary>Whether a change of a setting in a file takes effect while the server runs.</summary>
    public static bool MayChange(string path) => Entries.Any(entry =>
        entry.MayChange && path.StartsWith(entry.Path.Split('<')[0], StringComparison.OrdinalIgnoreCase));

    private static IReadOnlyList<SettingEntry> Describe()
    {
        var read = new SettingsReader(new ConfigurationBuilder().Build());
        _ = new ProxyEntrySettings(read);
        return [.. read.Entries];
    }
}
