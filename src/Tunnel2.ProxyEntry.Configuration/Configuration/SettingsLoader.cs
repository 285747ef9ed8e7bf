namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Turns configuration into <see cref="ProxyEntrySettings"/> and reports every mistake at once, so that whoever sets up a server
/// corrects them in one go.
/// </summary>
internal static class SettingsLoader
{
    /// <summary>Reads section <c>Tunnel2</c>. Reads certificate files to check them; changes nothing.</summary>
    /// <param name="configuration">The root configuration, not the section.</param>
    /// <param name="files">Files that the process may have open; null: what is asked for is not compared with it.</param>
    public static SettingsLoadResult Load(IConfiguration configuration, int? files = null)
    {
        var errors = new List<SettingsError>();
        var options = new ProxyEntryOptions();
        new ConfigurationReader(options, errors).Read(configuration.GetSection(ProxyEntryOptions.SectionName));
        return Build(options, errors, files);
    }

    /// <summary>Checks options that were filled by hand.</summary>
    public static SettingsLoadResult Load(ProxyEntryOptions options) => Build(options, [], null);

    private static SettingsLoadResult Build(ProxyEntryOptions options, List<SettingsError> errors, int? files)
    {
        var settings = new SettingsBuilder(options, errors, files).Build();
        return errors.Count == 0 ? new SettingsLoadResult(settings, []) : new SettingsLoadResult(null, [.. errors]);
    }
}
