using System.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Running;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Client.Variables;
using Tunnel2.Protocol;

namespace Tunnel2.Client.CommandLine;

/// <summary>
/// The grammar of <c>tunnel2</c>. System.CommandLine splits the words; what the values mean is judged by
/// <see cref="AgentOptionsParser"/>, and help, version and mistakes are this program's own text.
/// </summary>
internal sealed class AgentCommandLine
{
    private const string DefaultFile = "tunnels.yml";

    private readonly Option<bool> _help = Switch("--help", "-h", "-?");
    private readonly Option<bool> _version = Switch("--version", "-v");
    private readonly Option<string?> _server = Value("--server");
    private readonly Option<string?> _name = Value("--name", "--subdomain");
    private readonly Option<string?> _publicUrl = Value("--url");
    private readonly Option<string?> _token = Value("--token", "--authtoken");
    private readonly Option<string?> _serverFingerprint = Value("--server-fingerprint");
    private readonly Option<string?> _serverCa = Value("--server-ca");
    private readonly Option<string?> _clientCertificate = Value("--client-cert");
    private readonly Option<string?> _clientKey = Value("--client-key");
    private readonly Option<string?> _uplinks = Value("--uplinks");
    private readonly Option<string?> _streams = Value("--streams");
    private readonly Option<string?> _backendConnections = Value("--backend-connections");
    private readonly Option<string?> _bufferMegabytes = Value("--buffer-megabytes");
    private readonly Option<string?> _loops = Value("--loops");
    private readonly Option<string?> _hostHeader = Value("--host-header");
    private readonly Option<bool> _exitOnFailure = Switch("--exit-on-failure");
    private readonly Option<bool> _verbose = Switch("--verbose");
    private readonly Option<bool> _json = Switch("--json");
    private readonly Option<string?> _config = Value("--config");

    private readonly Option<string?> _sessionId = Value("--dev-session-id");
    private readonly Option<string?> _backendHost = Value("--backend-host");
    private readonly Option<string?> _backendPort = Value("--backend-port");
    private readonly Option<string?> _tunnelHost = Value("--tunnel-host");
    private readonly Option<string?> _tunnelPort = Value("--tunnel-port");

    private readonly Argument<string?> _upstream = new("upstream") { Arity = ArgumentArity.ZeroOrOne };
    private readonly Command _http = new("http");
    private readonly Command _start = new("start");
    private readonly Command _root = new("tunnel2");

    // No response files (@file) and no bundling (-vj): neither is documented, and a value may start with @.
    private readonly ParserConfiguration _configuration = new() { EnablePosixBundling = false, ResponseFileTokenReplacer = null };

    public AgentCommandLine()
    {
        // All on the root and recursive, so that flags may stand before and after "http".
        foreach (Option option in AllOptions)
        {
            option.Recursive = true;
            _root.Add(option);
        }

        _http.Add(_upstream);
        _root.Add(_http);
        _root.Add(_start);

        // Never invoked; a command without an action counts as one that lacks a subcommand.
        _http.SetAction(static _ => { });
        _start.SetAction(static _ => { });
        _root.SetAction(static _ => { });

        // Unknown words are reported by this class, which does not repeat what may be a secret.
        _http.TreatUnmatchedTokensAsErrors = false;
        _start.TreatUnmatchedTokensAsErrors = false;
        _root.TreatUnmatchedTokensAsErrors = false;
    }

    /// <summary>Every option, for the test that the help text names them all.</summary>
    internal IEnumerable<Option> AllOptions =>
    [
        _help, _version, _server, _name, _publicUrl, _token, _serverFingerprint, _serverCa, _clientCertificate, _clientKey, _uplinks,
        _streams, _backendConnections, _bufferMegabytes, _loops, _hostHeader, _exitOnFailure, _verbose, _json, _config, .. OlderFormOptions,
    ];

    private IEnumerable<Option<string?>> OlderFormOptions => [_sessionId, _backendHost, _backendPort, _tunnelHost, _tunnelPort];

    /// <summary>Judges a command line.</summary>
    /// <param name="args">The words after the program's name.</param>
    /// <param name="environment">Gives the value of an environment variable, or null.</param>
    /// <param name="readFile">Gives the text of a file; <see cref="File.ReadAllText(string)"/> unless a test says otherwise.</param>
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

        AgentOptionsInput input = ReadInput(parsed, environment);
        if (parsed.CommandResult.Command == _start)
        {
            return ParseFile(parsed, input, environment, readFile ?? File.ReadAllText);
        }

        EnvironmentScope scope = input.OlderForm is null ? EnvironmentScope.OneTunnel : EnvironmentScope.OlderForm;
        input = EnvironmentFallback.Apply(input, environment, scope, out IReadOnlyList<string> wrong);
        AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
        return result.Options is null || wrong.Count > 0
            ? Mistaken(result.Mistakes.Select(static mistake => mistake.ToString()).Concat(wrong))
            : new CommandLineResult { Request = CommandLineRequest.Run, Tunnels = [result.Options] };
    }

    private CommandLineResult ParseFile(
        ParseResult parsed, AgentOptionsInput flags, Func<string, string?> environment, Func<string, string> readFile)
    {
        string path = parsed.GetValue(_config) ?? (environment("TUNNEL2_CONFIG") is { Length: > 0 } set ? set : DefaultFile);
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
        bool isOlderForm = OlderFormOptions.Any(option => IsGiven(parsed, option));
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

        if ((isHttp || isStart) && isOlderForm)
        {
            string olderFlag = OlderFormOptions.First(option => IsGiven(parsed, option)).Name;
            mistakes.Add($"{olderFlag}: belongs to the older form and cannot go with '{parsed.CommandResult.Command.Name}'");
        }

        if (!isStart && IsGiven(parsed, _config))
        {
            mistakes.Add("--config: belongs to 'start', as in 'tunnel2 start --config tunnels.yml'");
        }

        foreach (Option<string?> option in new[] { _name, _publicUrl }.Where(option => isStart && IsGiven(parsed, option)))
        {
            mistakes.Add($"{option.Name}: cannot go with 'start'; each tunnel has its name in the file");
        }

        // A value after a misspelt flag is an unknown word too, and may be a token: only the flag itself is named.
        string[] unknown = [.. parsed.UnmatchedTokens];
        string[] unknownFlags = [.. unknown.Where(static word => word.StartsWith('-')).Select(static word => word.Split('=', ':')[0])];
        mistakes.AddRange(unknownFlags.Select(
            flag => NearestWord.Find(flag, AllOptions.SelectMany(static option => option.Aliases.Append(option.Name))) is { } near
            && flag.StartsWith("--", StringComparison.Ordinal)
            ? $"{flag}: unknown flag, did you mean {near}?"
            : $"{flag}: unknown flag"));
        if (unknownFlags.Length == 0 && unknown.Length > 0)
        {
            mistakes.Add(isHttp
                ? "<upstream>: only one port, host:port or URL can be given"
                : isStart ? "'start' takes its tunnels from the file of --config"
                : Array.IndexOf(HelpText.Commands, unknown[0]) >= 0
                    ? $"'{unknown[0]}' has to be the first word"
                    : $"'{unknown[0]}' is not a command; the commands are {string.Join(", ", HelpText.Commands)}, as in 'tunnel2 http "
                        + $"3000'");
        }

        if (mistakes.Count == 0 && !isHttp && !isStart && !isOlderForm)
        {
            mistakes.Add("say what to forward, as in 'tunnel2 http 3000'");
        }

        // What is left is a mistake the lines above have no words for.
        if (mistakes.Count == 0)
        {
            mistakes.AddRange(parsed.Errors.Select(static error => error.Message));
        }

        return mistakes;
    }

    private AgentOptionsInput ReadInput(ParseResult parsed, Func<string, string?> environment) => new()
    {
        Upstream = parsed.CommandResult.Command == _http ? parsed.GetValue(_upstream) : null,
        Server = parsed.GetValue(_server),
        EnvironmentServer = environment("TUNNEL2_SERVER"),
        Name = parsed.GetValue(_name),
        PublicUrl = parsed.GetValue(_publicUrl),
        Token = parsed.GetValue(_token),
        EnvironmentToken = environment("TUNNEL2_TOKEN"),
        EnvironmentAllowPlaintext = environment("TUNNEL2_ALLOW_PLAINTEXT"),
        Tls = new TlsOptionsInput(
            parsed.GetValue(_serverFingerprint), parsed.GetValue(_serverCa), parsed.GetValue(_clientCertificate),
            parsed.GetValue(_clientKey)),
        Uplinks = parsed.GetValue(_uplinks),
        Streams = parsed.GetValue(_streams),
        BackendConnections = parsed.GetValue(_backendConnections),
        BufferMegabytes = parsed.GetValue(_bufferMegabytes),
        Loops = parsed.GetValue(_loops),
        HostHeader = parsed.GetValue(_hostHeader),
        ExitOnFailure = IsGiven(parsed, _exitOnFailure),
        Verbose = IsGiven(parsed, _verbose),
        Json = IsGiven(parsed, _json),
        OlderForm = OlderFormOptions.Any(option => IsGiven(parsed, option))
            ? new OlderFormInput(
                parsed.GetValue(_sessionId),
                parsed.GetValue(_backendHost),
                parsed.GetValue(_backendPort),
                parsed.GetValue(_tunnelHost),
                parsed.GetValue(_tunnelPort))
            : null,
    };

    private static CommandLineResult Mistaken(IEnumerable<string> mistakes) => new()
    {
        Request = CommandLineRequest.Mistake,
        Mistake = string.Join("; ", mistakes),
    };

    private static bool IsGiven(ParseResult parsed, Option option) => parsed.GetResult(option) is { Implicit: false };

    private static Option<bool> Switch(string name, params string[] aliases) => new(name, aliases) { Arity = ArgumentArity.Zero };

    // Arity "zero or one" although a value is needed: the message for a missing one is this class's own.
    private static Option<string?> Value(string name, params string[] aliases) => new(name, aliases) { Arity = ArgumentArity.ZeroOrOne };
}
