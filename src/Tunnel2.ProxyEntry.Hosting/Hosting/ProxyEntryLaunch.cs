using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>What a server needs for its start.</summary>
/// <param name="Settings">The checked settings.</param>
/// <param name="Source">The source of the settings, from which the agents are read again when it changes.</param>
/// <param name="Inherited">Listening sockets that were handed over; null: none.</param>
internal sealed record ProxyEntryLaunch(ProxyEntrySettings Settings, ISettingsSource Source, InheritedSockets? Inherited = null)
{
    /// <summary>Checks the settings that were read.</summary>
    /// <param name="configuration">The values of the source.</param>
    /// <param name="source">The source.</param>
    /// <param name="errors">Mistakes found before.</param>
    /// <param name="inherited">Listening sockets that were handed over.</param>
    /// <exception cref="ProxyEntrySettingsException">There are mistakes; it has all of them.</exception>
    public static ProxyEntryLaunch Load(
        IConfiguration configuration, ISettingsSource source, IReadOnlyList<SettingsError> errors, InheritedSockets? inherited = null)
    {
        var (settings, mistakes) = SettingsLoader.Load(configuration, OpenFiles.Limit());
        if (settings is { NodeLinks.Listen: not null, Cluster.Database: null })
        {
            mistakes =
            [
                new SettingsError(
                    $"{SettingKeys.Section}:{SettingKeys.ClusterListen}",
                    $"has no effect without {SettingKeys.Section}:{SettingKeys.ClusterDatabase}: no other node would know of this one."),
            ];
        }

        return settings is not null && errors.Count + mistakes.Count == 0
            ? new ProxyEntryLaunch(settings, source, inherited)
            : throw new ProxyEntrySettingsException([.. errors, .. mistakes]);
    }

    /// <summary>Reads and checks the settings of a program that hosts the server.</summary>
    /// <exception cref="ProxyEntrySettingsException">There are mistakes; it has all of them.</exception>
    public static ProxyEntryLaunch OfHost(IConfiguration host, IEnumerable<KeyValuePair<string, string?>> values)
    {
        var source = new HostSettingsSource(host, values);
        var configuration = source.Read();
        const string Listeners = $"{SettingKeys.Section}:{SettingKeys.ListenersFrom}";
        return Load(
            configuration,
            source,
            string.IsNullOrWhiteSpace(configuration[Listeners])
                ? []
                : [new SettingsError(Listeners, "is for the program tunnel2-entry; a server in another program opens its own sockets.")]);
    }
}
