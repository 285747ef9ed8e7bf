namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Turns what was given into <see cref="AgentOptions"/>. Judges every setting before it answers, so that a user mends all mistakes at once.
/// </summary>
internal static class AgentOptionsParser
{
    private const string UpstreamArgument = "<upstream>";
    private const int MaxTokenLength = 1024;

    /// <summary>Judges <paramref name="input"/> and makes options of it. Mistakes of the user are values, never exceptions.</summary>
    public static AgentOptionsParseResult Parse(AgentOptionsInput input)
    {
        var mistakes = new List<OptionMistake>();
        BackendTarget? upstream = input.IsOlderForm ? ParseOlderUpstream(input, mistakes) : ParseUpstream(input, mistakes);
        ServerEndpoint server = ParseServer(input, mistakes, out bool? wantsTls);
        var options = new AgentOptions
        {
            Upstream = upstream ?? new BackendTarget(false, "127.0.0.1", 1),
            Server = server,
            Tls = TlsOptionsParser.Parse(input, server, wantsTls, mistakes),
            Name = ParseName(input, mistakes) ?? AgentName.CreateRandom(),
            Token = ParseToken(input, mistakes),
            WatchesBackend = true,
        };
        foreach (AgentSetting setting in AgentSettingTable.All)
        {
            if (setting.Read is { } read && input[setting.Flag] is { } text)
            {
                Note(setting.Flag, read(text, ref options), mistakes);
            }
        }

        return mistakes.Count == 0 && upstream is not null
            ? new AgentOptionsParseResult(options, [])
            : new AgentOptionsParseResult(null, [.. mistakes.Select(mistake => mistake with { Flag = input.OriginOf(mistake.Flag) })]);
    }

    private static BackendTarget? ParseUpstream(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (string.IsNullOrEmpty(input[UpstreamArgument]))
        {
            Note(UpstreamArgument, "say what to forward: a port, host:port or URL, as in 'tunnel2 http 3000'", mistakes);
            return null;
        }

        Note(UpstreamArgument, BackendTarget.TryParse(input[UpstreamArgument]!, out BackendTarget? target), mistakes);
        return target;
    }

    private static BackendTarget? ParseOlderUpstream(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (input[UpstreamArgument] is not null)
        {
            Note(UpstreamArgument, "cannot go with the older form (--dev-session-id …)", mistakes);
        }

        string host = input["--backend-host"] ?? "127.0.0.1";
        bool hostIsGood = NoteHost("--backend-host", host, mistakes);
        if (input["--backend-port"] is not { } portText)
        {
            Note("--backend-port", "is missing; the older form needs it", mistakes);
            return null;
        }

        return ParsePort("--backend-port", portText, mistakes) is { } port && hostIsGood
            ? new BackendTarget(false, WithoutBrackets(host), port)
            : null;
    }

    private static ServerEndpoint ParseServer(AgentOptionsInput input, List<OptionMistake> mistakes, out bool? wantsTls)
    {
        wantsTls = null;
        ServerEndpoint server = ServerEndpoint.Default;
        if (input["--server"] is { } text)
        {
            server = ParseServerText("--server", TlsOptionsParser.TakeScheme(text, out wantsTls), mistakes);
            if ((input["--tunnel-host"] ?? input["--tunnel-port"]) is not null && input.OriginOf("--server") == "--server")
            {
                Note("--server", "cannot go with --tunnel-host or --tunnel-port", mistakes);
            }
        }

        if (input["--tunnel-host"] is { } tunnelHost)
        {
            string host = TlsOptionsParser.TakeScheme(tunnelHost, out wantsTls);
            server = NoteHost("--tunnel-host", host, mistakes) ? server with { Host = WithoutBrackets(host) } : server;
        }

        return input["--tunnel-port"] is { } port && ParsePort("--tunnel-port", port, mistakes) is { } number
            ? server with { Port = number }
            : server;
    }

    private static ServerEndpoint ParseServerText(string flag, string text, List<OptionMistake> mistakes)
    {
        if (text.Contains("://", StringComparison.Ordinal))
        {
            string scheme = text[..(text.IndexOf("://", StringComparison.Ordinal) + 3)];
            Note(flag, $"'{scheme}' does not belong here; give host:port, with tls:// or tcp:// in front if it must be", mistakes);
            return ServerEndpoint.Default;
        }

        string? mistake = HostPort.TrySplit(text, out string host, out int? port);
        if (mistake is not null && HostPort.TryParsePort(text, out int only))
        {
            mistake = $"'{text}' lacks a host; write 127.0.0.1:{only}";
        }

        Note(flag, mistake, mistakes);
        return mistake is null ? new ServerEndpoint(host, port ?? ServerEndpoint.DefaultPort) : ServerEndpoint.Default;
    }

    private static string? ParseName(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        string? name = null;
        string? givenBy = null;
        if (input["--name"] is { } nameText)
        {
            Note(givenBy = "--name", AgentName.TryParse(nameText, out name), mistakes);
        }

        if (input["--url"] is { } url)
        {
            Note("--url", AgentName.TryParseUrl(url, out string fromUrl), mistakes);
            if (givenBy is not null && name != fromUrl)
            {
                Note("--url", "asks for another name than --name; give one of them", mistakes);
            }

            name = fromUrl;
            givenBy = "--url";
        }

        if (input.IsOlderForm)
        {
            if (givenBy is not null)
            {
                Note(givenBy, "cannot go with --dev-session-id, which is the name", mistakes);
            }

            if (input["--dev-session-id"] is not { } text)
            {
                Note("--dev-session-id", "is missing; the older form needs it", mistakes);
            }
            else if (!Guid.TryParse(text, out Guid id))
            {
                Note("--dev-session-id", $"'{text}' is not a GUID", mistakes);
            }
            else
            {
                name = id.ToString("D");
            }
        }

        return name;
    }

    private static string? ParseToken(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        // Says what is wrong without showing any of it.
        string? token = input["--token"];
        bool isGood = token is null || (token.Length is > 0 and <= MaxTokenLength && token.All(static c => c is > ' ' and < '\x7f'));
        Note("--token", isGood ? null : $"is not a token: 1 to {MaxTokenLength} printable ASCII characters without spaces", mistakes);
        return token;
    }

    private static int? ParsePort(string flag, string text, List<OptionMistake> mistakes)
    {
        if (HostPort.TryParsePort(text, out int port))
        {
            return port;
        }

        Note(flag, $"'{text}' is not a port (1 to 65535)", mistakes);
        return null;
    }

    private static bool NoteHost(string flag, string text, List<OptionMistake> mistakes)
    {
        if (HostPort.IsHost(text) || HostPort.IsIPv6(WithoutBrackets(text)))
        {
            return true;
        }

        Note(flag, $"'{text}' is not a host name or IP address", mistakes);
        return false;
    }

    private static string WithoutBrackets(string host) => host.StartsWith('[') && host.EndsWith(']') ? host[1..^1] : host;

    private static void Note(string flag, string? mistake, List<OptionMistake> mistakes)
    {
        if (mistake is not null)
        {
            mistakes.Add(new OptionMistake(flag, mistake));
        }
    }
}
