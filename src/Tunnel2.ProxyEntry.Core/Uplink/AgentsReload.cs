using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// Reads the settings again when their files change, and applies the agents: tokens, certificates, names, tiers. All other settings wait
/// for a restart, and a log line says so. Settings with a mistake change nothing.
/// </summary>
internal sealed class AgentsReload : WatchedReload
{
    private readonly ISettingsSource _source;
    private readonly SessionRevocation _sessions;
    private readonly ILogger _logger;
    private readonly Dictionary<string, string?> _started;

    public AgentsReload(ISettingsSource source, SessionRevocation sessions, ILogger<AgentsReload> logger)
        : base(source.Watch)
    {
        _source = source;
        _sessions = sessions;
        _logger = logger;
        _started = source.FirstRead ?? SettingsSource.FixedValues(source.Read());
    }

    /// <inheritdoc/>
    protected override IReadOnlyList<ReloadProblem> Reload()
    {
        if (_source.FindLoss() is { } loss)
        {
            return [loss];
        }

        var configuration = _source.Read();
        var (settings, errors) = SettingsLoader.Load(configuration);
        if (settings is null)
        {
            return [.. errors.Select(static error => new ReloadProblem(error.Key, error.Message))];
        }

        var ended = _sessions.Apply(settings.Agents);
        _source.Accept();
        ProxyEntryLog.AgentsReloaded(_logger, settings.Agents.Count, ended);
        var now = SettingsSource.FixedValues(configuration);
        foreach (var key in now.Keys.Union(_started.Keys, StringComparer.OrdinalIgnoreCase))
        {
            if (!string.Equals(now.GetValueOrDefault(key), _started.GetValueOrDefault(key), StringComparison.Ordinal))
            {
                ProxyEntryLog.SettingNeedsRestart(_logger, $"{SettingKeys.Section}:{key}");
            }
        }

        return [];
    }

    /// <inheritdoc/>
    protected override void Report(ReloadProblem problem) =>
        ProxyEntryLog.SettingsNotReloaded(_logger, problem.Key.Length == 0 ? "settings" : problem.Key, problem.Reason);
}
