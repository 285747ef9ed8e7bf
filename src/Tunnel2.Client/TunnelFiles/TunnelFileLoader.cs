using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Variables;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>
/// Makes the options of all tunnels in a file. The command line wins, then the tunnel, then the top of the file, then the environment.
/// </summary>
internal static class TunnelFileLoader
{
    private const string Upstream = "<upstream>";

    /// <summary>Checks a whole file.</summary>
    /// <param name="path">The file's name in messages.</param>
    /// <param name="text">Its text.</param>
    /// <param name="flags">The values of the command line.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <returns>The options, or all mistakes, a line each.</returns>
    public static (IReadOnlyList<AgentOptions> Tunnels, IReadOnlyList<string> Mistakes) Load(
        string path, string text, AgentOptionsInput flags, Func<string, string?> environment)
    {
        TunnelFile file = TunnelFileReader.Read(text);
        var mistakes = file.Mistakes.Select(mistake => (mistake.Line, Text: $"{path}:{mistake.Line}: {mistake.Message}")).ToList();
        var tunnels = new List<AgentOptions>();
        var names = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase);
        foreach (TunnelFileSection tunnel in file.Tunnels)
        {
            AgentOptionsInput input = Fill(path, flags, tunnel, file.Top);
            input = EnvironmentFallback.Apply(input, environment, isOneTunnel: false);

            // The parser's message would describe the command line instead of the file.
            if (input[Upstream] is null)
            {
                mistakes.Add((tunnel.Line, $"{path}:{tunnel.Line}: the tunnel lacks its upstream: a port, host:port or URL"));
                input = input.Give(Upstream, "1");
            }

            AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
            mistakes.AddRange(result.Mistakes.Select(mistake => (LineOf(mistake, path), mistake.ToString())));
            if (input["--name"] is { } name && !names.TryAdd(name, tunnel.Line))
            {
                int line = tunnel.Values.First(static pair => pair.Key.Name == "name").Value.Line;
                mistakes.Add((line, $"{path}:{line}: name: '{name}' is the name of the tunnel of line {names[name]} already"));
            }

            if (result.Options is not null)
            {
                tunnels.Add(result.Options);
            }
        }

        // A mistake at the top or in the environment is found once for each tunnel, so duplicates are removed.
        return mistakes.Count == 0
            ? (tunnels, [])
            : ([], [.. mistakes.OrderBy(static mistake => mistake.Line).Select(static mistake => mistake.Text).Distinct()]);
    }

    private static AgentOptionsInput Fill(string path, AgentOptionsInput flags, params ReadOnlySpan<TunnelFileSection> sections)
    {
        AgentOptionsInput input = flags;
        foreach (TunnelFileSection section in sections)
        {
            foreach ((AgentSetting setting, TunnelFileValue value) in section.Values)
            {
                input = input.Give(setting.Flag, value.Text, $"{path}:{value.Line}: {setting.Name}");
            }
        }

        return input;
    }

    /// <summary>The line number at the beginning of a mistake, to sort them in the file's order; 0 for mistakes elsewhere.</summary>
    private static int LineOf(OptionMistake mistake, string path) =>
        mistake.Flag.StartsWith(path + ":", StringComparison.Ordinal)
        && int.TryParse(mistake.Flag[(path.Length + 1)..].Split(':')[0], out int line)
            ? line
            : 0;
}
