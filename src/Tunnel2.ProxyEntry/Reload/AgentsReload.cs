using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// Reads the settings again when their files change, and takes over the agents: tokens, certificates, names, tiers. Everything else waits
/// for a restart, and is said to. Settings with a mistake change nothing.
/// </summary>
internal sealed class AgentsReload : IReloadable
{
    private readonly SettingsSource _source;
    private readonly SessionRevocation _sessions;
    private readonly ILogger _logger;
    private readonly WatchedFiles _files;
    private readonly bool[] _present;
    private readonly Dictionary<string, string?> _started;

    public AgentsReload(SettingsSource source, SessionRevocation sessions, ILogger<AgentsReload> logger)
    {
        _source = source;
        _sessions = sessions;
        _logger = logger;
        _files = new WatchedFiles(source.Files);
        _present = [.. source.Files.Select(File.Exists)];
        _started = SettingsSource.FixedValues(source.Read());
    }

    /// <inheritdoc/>
    public void ReloadIfChanged()
    {
        if (!_files.HaveChanged())
        {
            return;
        }

        try
        {
            Reload();
        }
        catch (Exception exception)
        {
            ProxyEntryLog.SettingsNotReloaded(_logger, "settings", exception.GetBaseException().Message.ReplaceLineEndings(" "));
        }
    }

    private void Reload()
    {
        for (var i = 0; i < _present.Length; i++)
        {
            if (_present[i] && !File.Exists(_source.Files[i]))
            {
                // A file that went away is an accident, or is being replaced; that no agent may connect any more is said by an empty list.
                ProxyEntryLog.SettingsNotReloaded(_logger, _source.Files[i], "the file is gone");
                return;
            }

            _present[i] = File.Exists(_source.Files[i]);
        }

        var configuration = _source.Read();
        var (settings, errors) = SettingsLoader.Load(configuration);
        if (settings is null)
        {
            foreach (var error in errors)
            {
                ProxyEntryLog.SettingsNotReloaded(_logger, error.Key, error.Message);
            }

            return;
        }

        var ended = _sessions.Apply(settings.Agents);
        ProxyEntryLog.AgentsReloaded(_logger, settings.Agents.Count, ended);
        var now = SettingsSource.FixedValues(configuration);
        foreach (var key in now.Keys.Union(_started.Keys, StringComparer.OrdinalIgnoreCase))
        {
            if (!string.Equals(now.GetValueOrDefault(key), _started.GetValueOrDefault(key), StringComparison.Ordinal))
            {
                ProxyEntryLog.SettingNeedsRestart(_logger, $"{ProxyEntryOptions.SectionName}:{key}");
            }
        }
    }
}
