namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Turns configuration into <see cref="ProxyEntrySettings"/> and reports every mistake at once, so that whoever sets up a server
/// corrects them in one go.
/// </summary>
internal static class SettingsLoader
{
    /// <summary>Reads section <c>Tunnel2</c>. Reads certificate files to check them; changes nothing.</summary>
    /// <param name="configuration">The root configuration, not the section.</param>
    public static SettingsLoadResult Load(IConfiguration configuration)
    {
        var errors = new List<SettingsError>();
        var options = new ProxyEntryOptions();
        new ConfigurationReader(options, errors).Read(configuration.GetSection(ProxyEntryOptions.SectionName));
        return Build(options, errors);
    }

    /// <summary>Checks options that were filled by hand.</summary>
    public static SettingsLoadResult Load(ProxyEntryOptions options) => Build(options, []);

    private static SettingsLoadResult Build(ProxyEntryOptions options, List<SettingsError> errors)
    {
        var settings = new SettingsBuilder(options, errors).Build();
        return errors.Count == 0 ? new SettingsLoadResult(settings, []) : new SettingsLoadResult(null, [.. errors]);
    }
}
