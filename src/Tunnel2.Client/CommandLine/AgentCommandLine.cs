using System.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Running;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Client.Variables;
using Tunnel2.Protocol;

namespace Tunnel2.Client.CommandLine;

/// <summary>
/// The grammar of <c>tunnel2</c>. System.CommandLine splits the words, <see cref="AgentOptionsParser"/> checks the values, and help,
/// version and messages about mistakes are this program's own text.
/// </summary>
internal sealed class AgentCommandLine
{
    private const string Config = "--config";
    private const string DefaultFile = "tunnels.yml";

    private readonly Option<bool> _help = Switch("--help", "-h", "-?");
    private readonly Option<bool> _version = Switch("--version", "-v");
    private readonly (AgentSetting Setting, Option Option)[] _settings =
    [
        .. AgentSettingTable.All.Where(static setting => setting.IsAt(AgentSettingPlaces.Flag)).Select(static setting =>
            (setting, setting.IsSwitch ? (Option)Switch(setting.Flag, setting.Aliases) : Value(setting.Flag, setting.Aliases))),
    ];

    private readonly Argument<string?> _upstream = new("upstream") { Arity = ArgumentArity.ZeroOrOne };
    private readonly Command _http = new("http");
    private readonly Command _start = new("start");
    private readonly Command _root = new("tunnel2");

    // No response files (@file) and no bundling (-vj): neither is documented, and a value may start with @.
    private readonly ParserConfiguration _configuration = new() { EnablePosixBundling = false, ResponseFileTokenReplacer = null };

    public AgentCommandLine()
    {
        // All options are on the root and recursive, so that flags may come before and after "http".
        foreach (Option option in AllOptions)
        {
            option.Recursive = true;
            _root.Add(option);
        }

        _http.Add(_upstream);
        _root.Add(_http);
        _root.Add(_start);

        // Never invoked. Without an action the command would count as one that lacks a subcommand.
        _http.SetAction(static _ => { });
        _start.SetAction(static _ => { });
        _root.SetAction(static _ => { });

        // This class reports unknown words, without repeating a word that may be a secret.
        _http.TreatUnmatchedTokensAsErrors = false;
        _start.TreatUnmatchedTokensAsErrors = false;
        _root.TreatUnmatchedTokensAsErrors = false;
    }

    /// <summary>Every option, for the test that compares them with the help text.</summary>
    internal IEnumerable<Option> AllOptions => [_help, _version, .. _settings.Select(static pair => pair.Option)];

    /// <summary>Checks a command line.</summary>
    /// <param name="args">The words after the program's name.</param>
    /// <param name="environment">Returns the value of an environment variable, or null.</param>
    /// <param name="readFile">Returns the text of a file; <see cref="File.ReadAllText(string)"/> except in tests.</param>
    public CommandLineResult Parse(IReadOnlyList<string> args, Func<string, string?> environment, Func<string, string>? readFile = null)
    {
        ParseResult parsed = _root.Parse(args, _configuration);
        if (IsGiven(parsed, _help))
        {
            return CommandLineResult.Help;
        }

        if (IsGiven(parsed, _version))
        {
            return CommandLineResult.Version;
        }

        List<string> mistakes = FindGrammarMistakes(parsed);
        mistakes.AddRange(AgentRunnerFactory.FindMistakes(environment));
        if (mistakes.Count > 0)
        {
            return Mistaken(mistakes);
        }

        AgentOptionsInput input = ReadInput(parsed);
        if (parsed.CommandResult.Command == _start)
        {
            return ParseFile(input, environment, readFile ?? File.ReadAllText);
        }

        input = EnvironmentFallback.Apply(input, environment, isOneTunnel: !input.IsOlderForm);
        AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
        return result.Options is null
            ? Mistaken(result.Mistakes.Select(static mistake => mistake.ToString()))
            : new CommandLineResult { Request = CommandLineRequest.Run, Tunnels = [result.Options] };
    }

    private static CommandLineResult ParseFile(
        AgentOptionsInput flags, Func<string, string?> environment, Func<string, string> readFile)
    {
        string path = EnvironmentFallback.Apply(flags, environment, isOneTunnel: false)[Config] ?? DefaultFile;
        string text;
        try
        {
            text = readFile(path);
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or ArgumentException or NotSupportedException)
        {
            return Mistaken([$"{path}: cannot be read: {exception.Message.ReplaceLineEndings(" ")}"]);
        }

        (IReadOnlyList<AgentOptions> tunnels, IReadOnlyList<string> mistakes) = TunnelFileLoader.Load(path, text, flags, environment);
        return mistakes.Count > 0
            ? new CommandLineResult { Request = CommandLineRequest.Mistake, Mistake = string.Join('\n', mistakes) }
            : new CommandLineResult { Request = CommandLineRequest.Run, Tunnels = tunnels };
    }

    private List<string> FindGrammarMistakes(ParseResult parsed)
    {
        var mistakes = new List<string>();
        bool isHttp = parsed.CommandResult.Command == _http;
        bool isStart = parsed.CommandResult.Command == _start;
        string? olderFlag = _settings.FirstOrDefault(pair => pair.Setting.IsOlderForm && IsGiven(parsed, pair.Option)).Setting?.Flag;
        foreach (Option option in AllOptions)
        {
            if (parsed.GetResult(option) is not { Implicit: false } result)
            {
                continue;
            }

            if (result.IdentifierTokenCount > 1)
            {
                mistakes.Add($"{option.Name}: is given more than once");
            }
            else if (option is Option<string?> && result.Tokens.Count == 0)
            {
                mistakes.Add($"{option.Name}: lacks its value");
            }
        }

        if ((isHttp || isStart) && olderFlag is not null)
        {
            mistakes.Add($"{olderFlag}: belongs to the older form and cannot go with '{parsed.CommandResult.Command.Name}'");
        }

        string[] given = [.. _settings.Where(pair => IsGiven(parsed, pair.Option)).Select(static pair => pair.Setting.Flag)];
        if (!isStart && given.Contains(Config))
        {
            mistakes.Add("--config: belongs to 'start', as in 'tunnel2 start --config tunnels.yml'");
        }

        foreach (string flag in given.Where(flag => isStart && flag is ("--name" or "--url")))
        {
            mistakes.Add($"{flag}: cannot go with 'start'; each tunnel has its name in the file");
        }

        // The value after a misspelt flag is an unknown word too, and may be a token. So only the flag itself is named.
        string[] unknown = [.. parsed.UnmatchedTokens];
        string[] unknownFlags = [.. unknown.Where(static word => word.StartsWith('-')).Select(static word => word.Split('=', ':')[0])];
        string[] known = [.. AllOptions.SelectMany(static option => option.Aliases.Append(option.Name))];
        mistakes.AddRange(unknownFlags.Select(flag =>
            flag.StartsWith("--", StringComparison.Ordinal) && NearestWord.Find(flag, known) is { } near
                ? $"{flag}: unknown flag, did you mean {near}?"
                : $"{flag}: unknown flag"));
        if (unknownFlags.Length == 0 && unknown.Length > 0)
        {
            mistakes.Add(isHttp
                ? "<upstream>: only one port, host:port or URL can be given"
                : isStart ? "'start' takes its tunnels from the file of --config"
                : Array.IndexOf(HelpText.Commands, unknown[0]) >= 0
                    ? $"'{unknown[0]}' has to be the first word"
                    : $"'{unknown[0]}' is not a command; the commands are {string.Join(", ", HelpText.Commands)}, "
                        + "as in 'tunnel2 http 3000'");
        }

        if (mistakes.Count == 0 && !isHttp && !isStart && olderFlag is null)
        {
            mistakes.Add("say what to forward, as in 'tunnel2 http 3000'");
        }

        // All other mistakes get a general message.
        if (mistakes.Count == 0)
        {
            mistakes.AddRange(parsed.Errors.Select(static error => error.Message));
        }

        return mistakes;
    }

    private AgentOptionsInput ReadInput(ParseResult parsed)
    {
        var input = new AgentOptionsInput().Give("<upstream>", parsed.CommandResult.Command == _http ? parsed.GetValue(_upstream) : null);
        foreach ((AgentSetting setting, Option option) in _settings)
        {
            string? text = option is Option<string?> value ? parsed.GetValue(value) : "true";
            input = IsGiven(parsed, option) ? input.Give(setting.Flag, text) : input;
        }

        return input;
    }

    private static CommandLineResult Mistaken(IEnumerable<string> mistakes) => new()
    {
        Request = CommandLineRequest.Mistake,
        Mistake = string.Join("; ", mistakes),
    };

    private static bool IsGiven(ParseResult parsed, Option option) => parsed.GetResult(option) is { Implicit: false };

    private static Option<bool> Switch(string name, params string[] aliases) => new(name, aliases) { Arity = ArgumentArity.Zero };

    // Arity "zero or one" although a value is needed, so that this class reports a missing value in its own words.
    private static Option<string?> Value(string name, params string[] aliases) => new(name, aliases) { Arity = ArgumentArity.ZeroOrOne };
}
