using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Turns what was given into <see cref="AgentOptions"/>. Judges every setting before it answers, so that a user mends all mistakes at once.
/// </summary>
internal static class AgentOptionsParser
{
    private const string UpstreamArgument = "<upstream>";
    private const string ProtocolKey = "protocol";
    private const string ServerFlag = "--server";
    private const int MaxTokenLength = 1024;

    /// <summary>With how many servers an agent has sessions at most.</summary>
    private const int MostServers = 4;

    /// <summary>What is said of requests: a tunnel of bytes would take it without a word.</summary>
    private static readonly string[] _ofRequests = ["--host-header", "--backend-protocol"];

    /// <summary>What is said of the inspector, which keeps requests.</summary>
    private static readonly string[] _ofInspector =
        ["--inspect", "--inspect-listen", "--inspect-hosts", "--inspect-mask", "--inspect-megabytes"];

    /// <summary>The words for the kinds of tunnels, which are commands too.</summary>
    private static readonly string[] _words = ["http", "tcp", "tls", "udp"];

    /// <summary>Judges <paramref name="input"/> and makes options of it. Mistakes of the user are values, never exceptions.</summary>
    public static AgentOptionsParseResult Parse(AgentOptionsInput input)
    {
        var mistakes = new List<OptionMistake>();
        SessionKind kind = ParseKind(input, mistakes);
        BackendTarget? upstream = input.IsOlderForm ? ParseOlderUpstream(input, mistakes) : ParseUpstream(input, kind, mistakes);
        string[] servers = SplitServers(input, mistakes);
        ServerEndpoint server = ParseServer(input, servers.FirstOrDefault(), mistakes, out bool? wantsTls, out bool isWebSocket);
        List<string> names = ParseNames(input, mistakes);
        var options = new AgentOptions
        {
            Wanted = [.. names.Select(static name => new WantedName(name))],
            Upstream = upstream ?? new BackendTarget(false, "127.0.0.1", 1),
            Kind = kind,
            Server = server,
            Tls = TlsOptionsParser.Parse(input, server, wantsTls, mistakes),
            Proxy = ProxyOptionsParser.Parse(input, server, mistakes),
            Further = ParseFurther(input, servers, server, mistakes),
            Name = AgentName.CreateRandom(),
            Token = ParseToken(input, mistakes),
            WatchesBackend = kind != SessionKind.Udp,
        };
        foreach (AgentSetting setting in AgentSettingTable.All)
        {
            if (setting.Read is { } read && input[setting.Flag] is { } text)
            {
                bool isEmpty = setting.IsGuard && string.IsNullOrWhiteSpace(text);
                Note(setting.Flag, isEmpty ? "is empty; leave it out where everybody may visit" : read(text, ref options), mistakes);
            }
        }

        if (isWebSocket)
        {
            options = UseWebSocket(options, mistakes);
        }

        if (kind is not (SessionKind.Tcp or SessionKind.Udp) && options.RemotePort != 0)
        {
            Note("--remote-port", "belongs to a tunnel of TCP or UDP, as in 'tunnel2 tcp 22 --remote-port 20022'", mistakes);
        }

        if (kind is not (SessionKind.Tcp or SessionKind.Tls) && options.ProxyProtocol != 0)
        {
            Note("--proxy-protocol", "belongs to 'tcp' and 'tls'; a request of HTTP has X-Forwarded-For", mistakes);
        }

        if (kind != SessionKind.Http)
        {
            NoteOfRequests(options, input, mistakes);
        }

        if (options is { Uplink: UplinkWay.Direct, PublicPort: not null } && input.IsMeant("--public-port"))
        {
            Note("--public-port", "says nothing with --uplink direct, which never goes there", mistakes);
        }

        options = PoolOptionsParser.NameByPort(options);
        options = options.Wanted.Count == 0 ? options : options with { Name = options.Wanted[0].Name };
        DomainOptionsParser.Check(options, mistakes);
        RouteOptionsParser.Check(options, input, mistakes);
        AccessOptionsParser.Check(options, input, mistakes);
        PoolOptionsParser.Check(options, input, mistakes);
        return mistakes.Count == 0 && upstream is not null
            ? new AgentOptionsParseResult(options, [])
            : new AgentOptionsParseResult(
                null, [.. mistakes.Select(mistake => mistake with { Flag = input.OriginOf(mistake.Flag) }).Distinct()]);
    }

    /// <summary>Options that a tunnel of bytes would take without a word, and do nothing with.</summary>
    private static void NoteOfRequests(AgentOptions options, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        // To turn the inspector off asks for nothing.
        foreach (string flag in options.Inspects == false ? _ofRequests : _ofRequests.Concat(_ofInspector))
        {
            Note(flag, input.IsMeant(flag) ? "belongs to 'http': no other tunnel knows requests" : null, mistakes);
        }

        if (options.Further.Count > 0)
        {
            Note(ServerFlag, "several servers are for 'tunnel2 http': the visitors of other tunnels come to one server", mistakes);
        }

        if (options.Nodes > 1 && input.IsMeant("--nodes"))
        {
            Note("--nodes", "belongs to 'http': the visitors of other tunnels come to one server", mistakes);
        }
    }

    /// <summary>The servers as they were written.</summary>
    private static string[] SplitServers(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (input[ServerFlag] is not { } text)
        {
            return [];
        }

        string[] servers = text.Split([',', '\n'], StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        Note(ServerFlag, servers.Length > MostServers ? $"has {servers.Length} servers; at most {MostServers} may be" : null, mistakes);
        return servers.Length == 0 ? [text] : servers;
    }

    /// <summary>The servers after the first one.</summary>
    private static List<ServerAccess> ParseFurther(
        AgentOptionsInput input, string[] servers, ServerEndpoint first, List<OptionMistake> mistakes)
    {
        var further = new List<ServerAccess>();
        foreach (string text in servers.Skip(1).Take(MostServers))
        {
            ServerEndpoint server = ParseServer(input, text, mistakes, out bool? wantsTls, out bool isWebSocket);
            bool isTwice = server == first || further.Exists(one => one.Server == server);
            Note(ServerFlag, isTwice ? $"'{server}' is given twice" : null, mistakes);
            further.Add(new ServerAccess(
                server, TlsOptionsParser.Parse(input, server, wantsTls, mistakes), ProxyOptionsParser.Parse(input, server, mistakes),
                isWebSocket));
        }

        return further;
    }

    /// <summary>The server was written as a public one: ws:// or wss://.</summary>
    private static AgentOptions UseWebSocket(AgentOptions options, List<OptionMistake> mistakes)
    {
        if (options.Uplink == UplinkWay.Direct)
        {
            Note("--uplink", "direct contradicts the scheme ws:// or wss:// of the server; write the server as host:port", mistakes);
        }

        if (options.PublicPort is not null)
        {
            Note("--public-port", "cannot go with a server that is written ws:// or wss://, which has the port", mistakes);
        }

        return options with { Uplink = UplinkWay.WebSocket, PublicPort = options.Server.Port };
    }

    private static BackendTarget? ParseUpstream(AgentOptionsInput input, SessionKind kind, List<OptionMistake> mistakes)
    {
        if (kind == SessionKind.Http && input[RouteOptionsParser.Flag] is { } routes)
        {
            ServiceRoute? root = RouteOptionsParser.RootOf(routes);
            if (string.IsNullOrEmpty(input[UpstreamArgument]))
            {
                Note(
                    UpstreamArgument,
                    root is null ? "say what to forward that no route is for: a port, host:port or URL, or a route for /" : null,
                    mistakes);
                return root?.Target;
            }

            Note(RouteOptionsParser.Flag, root is null ? null : "the service for / is given twice: leave out one of them", mistakes);
        }

        if (string.IsNullOrEmpty(input[UpstreamArgument]))
        {
            string example = $"tunnel2 {_words[(int)kind]} {(kind == SessionKind.Tcp ? 22 : kind == SessionKind.Tls ? 443 : 53)}";
            Note(
                UpstreamArgument,
                kind == SessionKind.Http
                    ? "say what to forward: a port, host:port or URL, as in 'tunnel2 http 3000'"
                    : $"say what to forward: a port or host:port, as in '{example}'",
                mistakes);
            return null;
        }

        string text = input[UpstreamArgument]!;
        string? mistake = kind == SessionKind.Http
            ? BackendTarget.TryParse(text, out BackendTarget? target)
            : BackendTarget.TryParseRaw(text, out target, isDatagram: kind == SessionKind.Udp);
        Note(UpstreamArgument, mistake, mistakes);
        return target;
    }

    private static SessionKind ParseKind(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (input[ProtocolKey] is not { } text)
        {
            return SessionKind.Http;
        }

        int index = Array.FindIndex(_words, word => word.Equals(text, StringComparison.OrdinalIgnoreCase));
        Note(ProtocolKey, index < 0 ? $"'{text}' is not http, tcp, tls or udp" : null, mistakes);
        return (SessionKind)Math.Max(0, index);
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

    private static ServerEndpoint ParseServer(
        AgentOptionsInput input, string? written, List<OptionMistake> mistakes, out bool? wantsTls, out bool isWebSocket)
    {
        wantsTls = null;
        isWebSocket = false;
        ServerEndpoint server = ServerEndpoint.Default;
        if (written is { } text)
        {
            bool isEncrypted = text.StartsWith("wss://", StringComparison.OrdinalIgnoreCase);
            isWebSocket = isEncrypted || text.StartsWith("ws://", StringComparison.OrdinalIgnoreCase);
            string scheme = !isWebSocket ? "" : isEncrypted ? "tls" : "tcp";
            string rest = TlsOptionsParser.TakeScheme(
                isWebSocket ? scheme + text[text.IndexOf(':', StringComparison.Ordinal)..] : text, out wantsTls);
            int usualPort = !isWebSocket ? ServerEndpoint.DefaultPort : wantsTls == true ? 443 : 80;
            server = ParseServerText(ServerFlag, rest, usualPort, mistakes);
            if ((input["--tunnel-host"] ?? input["--tunnel-port"]) is not null && input.OriginOf(ServerFlag) == ServerFlag)
            {
                Note(ServerFlag, "cannot go with --tunnel-host or --tunnel-port", mistakes);
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

    private static ServerEndpoint ParseServerText(string flag, string text, int usualPort, List<OptionMistake> mistakes)
    {
        if (text.Contains("://", StringComparison.Ordinal))
        {
            string scheme = text[..(text.IndexOf("://", StringComparison.Ordinal) + 3)];
            Note(
                flag,
                $"'{scheme}' does not belong here; give host:port, with tls://, tcp://, wss:// or ws:// in front if it must be",
                mistakes);
            return ServerEndpoint.Default;
        }

        string? mistake = HostPort.TrySplit(text, out string host, out int? port);
        if (mistake is not null && HostPort.TryParsePort(text, out int only))
        {
            mistake = $"'{text}' lacks a host; write 127.0.0.1:{only}";
        }

        Note(flag, mistake, mistakes);
        return mistake is null ? new ServerEndpoint(host, port ?? usualPort) : ServerEndpoint.Default;
    }

    private static List<string> ParseNames(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        var names = new List<string>();
        string? givenBy = null;
        if (input["--name"] is { } nameText)
        {
            givenBy = "--name";
            foreach (string text in nameText.Split('\n'))
            {
                string? mistake = AgentName.TryParse(text, out string one);
                Note(givenBy, mistake ?? (names.Contains(one) ? $"'{one}' is given twice" : null), mistakes);
                names.Add(one);
            }
        }

        if (input["--url"] is { } url)
        {
            Note("--url", AgentName.TryParseUrl(url, out string fromUrl), mistakes);
            if (givenBy is not null && !(names.Count == 1 && names[0] == fromUrl))
            {
                Note("--url", "asks for another name than --name; give one of them", mistakes);
            }

            names = [fromUrl];
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
                names = [id.ToString("D")];
            }
        }

        return names;
    }

    private static string? ParseToken(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        // Says what is wrong without showing any of it.
        string? token = input["--token"];
        if (input[TokenFile.Flag] is { } path)
        {
            if (token is not null)
            {
                Note(TokenFile.Flag, $"cannot go with {input.OriginOf("--token")}; give one of them", mistakes);
                return token;
            }

            string? mistake = TokenFile.TryRead(path, out token);
            if (mistake is not null)
            {
                Note(TokenFile.Flag, mistake, mistakes);
                return null;
            }

            Note(TokenFile.Flag, IsToken(token!) ? null : $"has no token: one line of 1 to {MaxTokenLength} printable ASCII characters "
                + "without spaces", mistakes);
            return token;
        }

        bool isGood = token is null || IsToken(token);
        Note("--token", isGood ? null : $"is not a token: 1 to {MaxTokenLength} printable ASCII characters without spaces", mistakes);
        return token;
    }

    private static bool IsToken(string text) =>
        text.Length is > 0 and <= MaxTokenLength && text.All(static c => c is > ' ' and < '\x7f');

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
