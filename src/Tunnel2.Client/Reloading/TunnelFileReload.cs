using Tunnel2.Client.Core.Console;
using Tunnel2.Client.TunnelFiles;

namespace Tunnel2.Client.Reloading;

/// <summary>
/// Reads the file of tunnels again and has its changes applied. A file with a mistake changes nothing and is reported once. Used by one
/// thread at a time.
/// </summary>
internal sealed class TunnelFileReload
{
    private const int ShownMistakes = 5;

    private readonly Func<string, string?> _environment;
    private readonly Action<TunnelFileChange> _apply;
    private readonly AgentEventSource _events;
    private readonly TunnelFileSource _file;
    private IReadOnlyList<LoadedTunnel> _tunnels;
    private string _text;
    private IReadOnlyList<string> _atNextStart = [];
    private string? _refused;

    /// <param name="file">The file, and what runs of it.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="apply">Ends and begins tunnels; does not throw.</param>
    /// <param name="events">Where it is reported.</param>
    public TunnelFileReload(
        TunnelFileSource file, Func<string, string?> environment, Action<TunnelFileChange> apply, AgentEventSource events)
    {
        _file = file;
        _environment = environment;
        _apply = apply;
        _events = events;
        _tunnels = file.Tunnels;
        _text = file.Text;
    }

    /// <summary>Reads the file.</summary>
    /// <param name="stamp">How it looked when it was last unchanged between two looks.</param>
    public void Run(TunnelFileWatch.FileStamp stamp)
    {
        if (stamp.Length == 0)
        {
            Refuse($"{_file.Path}: is empty");
            return;
        }

        var (text, problem) = TunnelFileLoader.TryReadText(_file.Path);
        if (text == _text)
        {
            // As it was when the tunnels began, perhaps again after a mistake.
            _refused = null;
            return;
        }

        if (text is null)
        {
            Refuse(problem!);
            return;
        }

        TunnelFileLoad load = TunnelFileLoader.Load(_file.Path, text, _file.Flags, _environment);
        if (load.Mistakes.Count > 0)
        {
            string more = load.Mistakes.Count > ShownMistakes ? $"; and {load.Mistakes.Count - ShownMistakes} more" : "";
            Refuse(string.Join("; ", load.Mistakes.Take(ShownMistakes).Select(static mistake => mistake.Message)) + more);
            return;
        }

        _refused = null;
        _text = text;
        TunnelFileChange change = TunnelFileChange.Between(_tunnels, load.Tunnels);
        IReadOnlyList<string> atNextStart = [.. load.Tunnels[0].ProcessDifferences(_file.Tunnels[0])];
        bool saysAgain = atNextStart.SequenceEqual(_atNextStart);
        _atNextStart = atNextStart;
        if (change.IsNothing && saysAgain)
        {
            return;
        }

        _tunnels = change.Tunnels;
        _apply(change);
        _events.TunnelsChanged(
            _file.Path,
            [.. change.Added.Select(static tunnel => tunnel.Options.Name)],
            [.. change.Changed.Select(static tunnel => tunnel.Options.Name)],
            change.Removed,
            saysAgain ? [] : atNextStart);
    }

    private void Refuse(string problem)
    {
        if (problem != _refused)
        {
            _refused = problem;
            _events.TunnelFileRefused(problem);
        }
    }
}
