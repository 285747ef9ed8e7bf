using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Logins;
using Tunnel2.Client.Running;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Client.Variables;

namespace Tunnel2.Client.CommandLine;

/// <summary>
/// What the commands mean that run tunnels. <see cref="CommandLineReader"/> sorts the words, <see cref="AgentOptionsParser"/> judges the
/// values.
/// </summary>
internal sealed class AgentCommandLine
{
    private const string Upstream = "<upstream>";
    private const string UpstreamVariable = "TUNNEL2_UPSTREAM";
    private const string Folder = "file";
    private const string HttpsScheme = "https://";

    /// <summary>Checks a command line.</summary>
    /// <param name="args">The words after the program's name.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="readFile">Returns the text of a file; null: the real one.</param>
    public CommandLineResult Parse(IReadOnlyList<string> args, Func<string, string?> environment, Func<string, string>? readFile = null) =>
        Parse(CommandLineReader.Read(args), environment, readFile);

    /// <summary>The same for words that were sorted.</summary>
    public CommandLineResult Parse(ParsedLine line, Func<string, string?> environment, Func<string, string>? readFile = null)
    {
        if (line is { WantsHelp: true, HasUnknownCommand: false })
        {
            return CommandLineResult.Help;
        }

        if (line.WantsVersion)
        {
            return CommandLineResult.Version;
        }

        List<string> mistakes = FindMistakes(line);
        mistakes.AddRange(AgentRunnerFactory.FindMistakes(environment));
        if (mistakes.Count > 0)
        {
            return Mistaken(mistakes);
        }

        AgentOptionsInput input = ReadInput(line, environment, out string? upstreamMistake);
        if (upstreamMistake is not null)
        {
            return Mistaken([$"{(line.Command is { Name: Folder } ? "FOLDER" : Upstream)}: {upstreamMistake}"]);
        }

        if (line.Command is { Name: "start" })
        {
            return ParseFile(input, environment, readFile);
        }

        StoredLogin? login = StoredLogin.TryRead(environment, out string? loginMistake);
        if (loginMistake is not null)
        {
            return Mistaken([loginMistake]);
        }

        input = EnvironmentFallback.Apply(input, environment, isOneTunnel: !input.IsOlderForm, login);
        AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
        return result.Options is null
            ? Mistaken(result.Mistakes.Select(static mistake => mistake.ToString()))
            : new CommandLineResult
            {
                Request = CommandLineRequest.Run,
                Tunnels = DomainOptionsParser.Split(result.Options),
                ServedFolder = line.Command is { Name: Folder } ? line.Argument : null,
                ListsFolder = line.Has("--list"),
                MayShowScreen = result.Options.Wanted.Count <= 1 && line.Command is { Name: "http" or "https" or Folder }
                    && result.Options is { Json: false, Verbose: false, Plain: false },
                NamesNoServer = (input["--server"] ?? input["--tunnel-host"] ?? input["--tunnel-port"]) is null,
            };
    }

    private static CommandLineResult ParseFile(
        AgentOptionsInput flags, Func<string, string?> environment, Func<string, string>? readFile)
    {
        string path = TunnelFileLoader.PathOf(flags, environment);
        var (text, problem) = TunnelFileLoader.TryReadText(path, readFile);
        if (text is null)
        {
            return Mistaken([problem!]);
        }

        TunnelFileLoad load = TunnelFileLoader.Load(path, text, flags, environment);
        return load.Mistakes.Count > 0
            ? new CommandLineResult
            {
                Request = CommandLineRequest.Mistake,
                Mistake = string.Join('\n', load.Mistakes.Select(static mistake => mistake.Message)),
            }
            : new CommandLineResult
            {
                Request = CommandLineRequest.Run,
                Tunnels = [.. load.Tunnels.Select(static tunnel => tunnel.Options)],
                File = new TunnelFileSource(path, flags, text, load.Tunnels),
            };
    }

    /// <summary>What is wrong before any value is looked at.</summary>
    private static List<string> FindMistakes(ParsedLine line)
    {
        List<string> mistakes = [.. line.Mistakes];
        CommandSpec? command = line.Command;
        string? olderFlag = CommandTable.OlderOptions.FirstOrDefault(option => line.Has(option.Flag))?.Flag;
        if (command is not null && olderFlag is not null)
        {
            mistakes.Add($"{olderFlag}: belongs to the older form and cannot go with '{command.Name}'");
        }

        bool isStart = command is { Name: "start" };
        if (!isStart && line.Has(TunnelFileLoader.Flag))
        {
            mistakes.Add("--config: belongs to 'start', as in 'tunnel2 start --config tunnels.yml'");
        }

        if (command is { Name: Folder })
        {
            mistakes.AddRange(line.Flags.Where(static flag => flag is "--host-header" or "--backend-protocol")
                .Select(static flag => $"{flag}: cannot go with 'file', which has no service"));
        }

        foreach (string flag in line.Flags.Where(flag => isStart && CommandTable.IsRefused(command!, flag)))
        {
            mistakes.Add(flag is "--name" or "--url" or DomainOptionsParser.Flag
                ? $"{flag}: cannot go with 'start'; each tunnel has its name in the file"
                : $"{flag}: cannot go with 'start'; it belongs below a tunnel in the file");
        }

        if (mistakes.Count == 0 && command is null && olderFlag is null)
        {
            mistakes.Add("say what to forward, as in 'tunnel2 http 3000'");
        }

        return mistakes;
    }

    /// <summary>What the words give, before environment and file.</summary>
    internal static AgentOptionsInput ReadInput(ParsedLine line, Func<string, string?> environment, out string? upstreamMistake)
    {
        upstreamMistake = null;
        var input = new AgentOptionsInput();
        if (line.Command is { RunsTunnels: true } command and not { Name: "start" })
        {
            bool isHttps = command.Name == "https";
            bool isFolder = command.Name == Folder;
            if (isFolder)
            {
                upstreamMistake = MistakeOfFolder(line.Argument);
            }

            string? upstream = line.Argument ?? (isHttps && environment(UpstreamVariable) is { Length: > 0 } given ? given : null);
            if (isHttps && upstream is not null)
            {
                upstreamMistake = TryAddScheme(ref upstream);
            }

            // What serves the folder gets its own address later.
            input = input.Give(Upstream, isFolder ? "1" : upstream).Give("protocol", isHttps || isFolder ? "http" : command.Name);
        }

        foreach (CommandOption option in CommandTable.RootOptions.Where(option => line.Has(option.Flag)))
        {
            input = input.Give(option.Flag, option.IsSwitch ? "true" : line[option.Flag]);
        }

        return input;
    }

    private static string? MistakeOfFolder(string? path) => string.IsNullOrEmpty(path)
        ? "say which folder, as in 'tunnel2 file ./dist'"
        : Directory.Exists(path) ? null
        : File.Exists(path) ? $"'{path}' is a file; give the folder that it is in"
        : $"'{path}' is not a folder";

    /// <summary>Makes a URL of what comes after <c>https</c>.</summary>
    private static string? TryAddScheme(ref string upstream)
    {
        if (upstream.StartsWith(HttpsScheme, StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        if (upstream.Contains("://", StringComparison.Ordinal)
            || upstream.StartsWith("unix:", StringComparison.OrdinalIgnoreCase)
            || upstream.StartsWith("npipe:", StringComparison.OrdinalIgnoreCase))
        {
            return "'https' takes a port, host:port or https:// URL; 'http' takes the others";
        }

        string rest = upstream.StartsWith(':') ? upstream[1..] : upstream;
        upstream = HttpsScheme + (rest.Length > 0 && rest.All(char.IsAsciiDigit) ? $"localhost:{rest}" : rest);
        return null;
    }

    private static CommandLineResult Mistaken(IEnumerable<string> mistakes) => new()
    {
        Request = CommandLineRequest.Mistake,
        Mistake = string.Join("; ", mistakes),
    };
}
