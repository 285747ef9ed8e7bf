using Microsoft.Extensions.Primitives;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// The settings of a server that another program hosts: section <c>Tunnel2</c> of the program's configuration, and over it the values from
/// code. It polls the configuration's reload token and does not register with it, so there is no registration to end.
/// </summary>
internal sealed class HostSettingsSource : ISettingsSource, IChangeWatch
{
    private readonly IConfiguration _host;
    private readonly Dictionary<string, string?> _values = new(StringComparer.OrdinalIgnoreCase);
    private IChangeToken _token;
    private bool _hasChanged;
    private IConfigurationProvider[] _givers;

    /// <param name="host">The program's configuration, from its root.</param>
    /// <param name="values">Pairs of key and value, relative to the section; the last value of a key wins.</param>
    public HostSettingsSource(IConfiguration host, IEnumerable<KeyValuePair<string, string?>> values)
    {
        _host = host;
        foreach (var (key, value) in values)
        {
            _values[$"{SettingKeys.Section}:{key}"] = value;
        }

        _token = host.GetReloadToken();
        _givers = [.. Givers(host)];
    }

    /// <inheritdoc/>
    public IChangeWatch Watch => this;

    /// <inheritdoc/>
    public Dictionary<string, string?>? FirstRead { get; private set; }

    /// <summary>A copy, because the program's configuration may change during the reading.</summary>
    public IConfiguration Read()
    {
        var configuration = new ConfigurationBuilder()
            .AddInMemoryCollection(_host.GetSection(SettingKeys.Section).AsEnumerable())
            .AddInMemoryCollection(_values)
            .Build();
        FirstRead ??= SettingsSource.FixedValues(configuration);
        return configuration;
    }

    /// <summary>A missing or broken file leaves its provider empty, which would remove every agent's token.</summary>
    public ReloadProblem? FindLoss() => _givers.FirstOrDefault(static giver => !Gives(giver)) is { } lost
        ? new ReloadProblem(SettingKeys.Section, $"{lost} has no setting of this section any more")
        : null;

    /// <inheritdoc/>
    public bool HaveChanged()
    {
        if (_token.HasChanged)
        {
            // Taken before the reading, so a change after it counts as another change.
            _token = _host.GetReloadToken();
            _hasChanged = true;
        }

        return _hasChanged;
    }

    /// <summary>For the watch and the source: the values that were read are in use.</summary>
    public void Accept()
    {
        _hasChanged = false;
        _givers = [.. Givers(_host)];
    }

    private static IEnumerable<IConfigurationProvider> Givers(IConfiguration host) =>
        host is IConfigurationRoot root ? root.Providers.Where(Gives) : [];

    private static bool Gives(IConfigurationProvider provider) => provider.GetChildKeys([], SettingKeys.Section).Any();
}
