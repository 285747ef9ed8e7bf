using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Configuration;

/// <content>What serves the connections.</content>
internal sealed partial class SettingsBuilder
{
    /// <summary>An event loop's own two, and one for each listener of visitors.</summary>
    private const int FilesPerLoop = 4;

    /// <summary>Nobody has asked for loops that leave no room for connections.</summary>
    private const int FilesPerAutoLoop = 4 * FilesPerLoop;

    /// <summary>Files that the process may have open; null: not looked at.</summary>
    private readonly int? _files;

    /// <returns>How many loops there are to be.</returns>
    private int CheckEngine()
    {
        if (EngineSetup.FindObstacle(_options.Engine, EngineSetup.HasEpoll) is { } obstacle)
        {
            Report(SettingKeys.Engine, $"epoll {obstacle}.");
        }

        if (_options.Loops is not { } loops)
        {
            return _files is { } limit ? Math.Clamp(1 + ((limit - DescriptorBudget.LeastFiles) / FilesPerAutoLoop), 1, EngineSetup.AutoLoops) : EngineSetup.AutoLoops;
        }

        CheckBounds(SettingKeys.Loops, loops, 1, EpollEngine.MaxLoops);
        var needed = DescriptorBudget.LeastFiles + (FilesPerLoop * loops);
        if (loops is > 1 and <= EpollEngine.MaxLoops && needed > _files && _options.Engine != EngineMode.Portable)
        {
            Report(SettingKeys.Loops, $"{loops} event loops need {needed} files, and this process may have only {_files} open: use fewer, or raise the limit (ulimit -n, LimitNOFILE).");
        }

        return loops;
    }
}
