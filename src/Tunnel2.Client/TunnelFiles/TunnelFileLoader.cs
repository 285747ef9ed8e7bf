using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Logins;
using Tunnel2.Client.Variables;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.TunnelFiles;

/// <summary>
/// Makes the options of all tunnels in a file. The command line wins, then the tunnel, then the top of the file, then the environment, then
/// what a login has stored.
/// </summary>
internal static class TunnelFileLoader
{
    /// <summary>The flag that names the file.</summary>
    public const string Flag = "--config";

    private const string Upstream = "<upstream>";
    private const string DefaultFile = "tunnels.yml";
    private const string Variable = "TUNNEL2_CONFIG";

    /// <summary>The file that is meant.</summary>
    public static string PathOf(AgentOptionsInput flags, Func<string, string?> environment) =>
        flags[Flag] ?? (environment(Variable) is { Length: > 0 } path ? path : DefaultFile);

    /// <summary>Reads a file's text, up to a limit.</summary>
    /// <param name="path">The file.</param>
    /// <param name="readFile">Returns the text of a file; null: the real one.</param>
    /// <returns>The text, or why there is none.</returns>
    public static (string? Text, string? Problem) TryReadText(string path, Func<string, string>? readFile = null)
    {
        try
        {
            return ((readFile ?? TextFile.Read)(path), null);
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
        {
            return (null, $"{path}: cannot be read: {FileFailure.Reason(path, exception)}");
        }
    }

    /// <summary>Checks a whole file.</summary>
    /// <param name="path">The file's name in messages.</param>
    /// <param name="text">Its text.</param>
    /// <param name="flags">The values of the command line.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <returns>The options, or all mistakes, a line each.</returns>
    public static TunnelFileLoad Load(string path, string text, AgentOptionsInput flags, Func<string, string?> environment)
    {
        TunnelFile file = TunnelFileReader.Read(text);
        StoredLogin? login = StoredLogin.TryRead(environment, out string? loginMistake);
        var mistakes = file.Mistakes
            .Select(mistake => mistake with { Message = $"{path}:{mistake.Line}: {mistake.Message}" }).ToList();
        if (loginMistake is not null)
        {
            mistakes.Add(new TunnelFileMistake(0, loginMistake));
        }

        var tunnels = new List<LoadedTunnel>();
        var names = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase);
        var ports = new Dictionary<(ServerEndpoint Server, SessionKind Kind, int Port), int>();
        foreach (TunnelFileSection tunnel in file.Tunnels)
        {
            // What is below the tunnel is for it alone.
            AgentOptionsInput input = Fill(path, flags.ForAll(), tunnel, isForAll: false);
            input = Fill(path, input, file.Top, isForAll: true);
            input = EnvironmentFallback.Apply(input, environment, isOneTunnel: false, login);

            // The parser's message would describe the command line instead of the file.
            string? routes = input[RouteOptionsParser.Flag];
            if (input[Upstream] is null && (routes is null || RouteOptionsParser.RootOf(routes) is null))
            {
                string rest = routes is null ? "" : ", or a route for /";
                mistakes.Add(new TunnelFileMistake(
                    tunnel.Line, $"{path}:{tunnel.Line}: the tunnel lacks its upstream: a port, host:port or URL{rest}"));
                input = input.Give(Upstream, "1");
            }

            AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
            mistakes.AddRange(result.Mistakes.Select(mistake => new TunnelFileMistake(LineOf(mistake, path), mistake.ToString())));
            bool isPortFree = result.Options is not { RemotePort: > 0 and var port, Kind: var kind, Server: var server }
                || TryTake(ports, (server, kind, port), tunnel, "remote-port", path, $"remote-port: {port} is the port", mistakes);

            // Agents that share a port have a name that no user wrote: their port says enough.
            string[] written = input["--name"]?.Split('\n') ?? [];
            foreach (string name in isPortFree ? result.Options?.Wanted.Select(static one => one.Name) ?? written : written)
            {
                TryTake(names, name, tunnel, name.Contains('.') ? "domain" : "name", path, $"name: '{name}' is the name", mistakes);
            }

            if (result.Options is not null)
            {
                tunnels.AddRange(DomainOptionsParser.Split(result.Options)
                    .Select(options => new LoadedTunnel(options, input, result.Options.Wanted.Count > 0)));
            }
        }

        // A mistake at the top or in the environment is found once for each tunnel, so duplicates are removed.
        return mistakes.Count == 0
            ? new TunnelFileLoad(tunnels, [])
            : new TunnelFileLoad([], [.. mistakes.OrderBy(static mistake => mistake.Line).Distinct()]);
    }

    /// <summary>Takes for a tunnel what only one of a file can have, or notes the mistake.</summary>
    /// <param name="taken">What is taken, with the line of its tunnel.</param>
    /// <param name="wanted">What the tunnel wants.</param>
    /// <param name="tunnel">The tunnel.</param>
    /// <param name="key">The key that says so, where the file has it.</param>
    /// <param name="path">The file's name in messages.</param>
    /// <param name="words">What it is, as the message begins.</param>
    /// <param name="mistakes">Gets the mistake.</param>
    /// <returns>Whether it was free.</returns>
    private static bool TryTake<T>(
        Dictionary<T, int> taken, T wanted, TunnelFileSection tunnel, string key, string path, string words,
        List<TunnelFileMistake> mistakes)
        where T : notnull
    {
        if (taken.TryAdd(wanted, tunnel.Line))
        {
            return true;
        }

        int own = tunnel.Values.FirstOrDefault(pair => pair.Key.Name == key).Value.Line;
        int line = own > 0 ? own : tunnel.Line;
        mistakes.Add(new TunnelFileMistake(line, $"{path}:{line}: {words} of the tunnel of line {taken[wanted]} already"));
        return false;
    }

    private static AgentOptionsInput Fill(string path, AgentOptionsInput given, TunnelFileSection section, bool isForAll)
    {
        // A token of the command line or of the tunnel wins over one of the top, in any of the two ways.
        bool hasToken = (given["--token"] ?? given[TokenFile.Flag]) is not null;
        AgentOptionsInput input = given;
        foreach ((AgentSetting setting, TunnelFileValue value) in section.Values)
        {
            if (hasToken && setting.Flag is ("--token" or TokenFile.Flag))
            {
                continue;
            }

            input = input.Give(setting.Flag, value.Text, $"{path}:{value.Line}: {setting.Name}", isForAll);
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
