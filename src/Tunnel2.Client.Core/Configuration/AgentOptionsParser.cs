using System.Globalization;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Turns flags into <see cref="AgentOptions"/>. Judges every flag before it answers, so that a user mends all mistakes at once.
/// </summary>
public static class AgentOptionsParser
{
    private const string UpstreamArgument = "<upstream>";
    private const int MaxTokenLength = 1024;
    private const int LeastBufferMegabytes = (int)(ReceiveBudget.SmallestLimit / (1024 * 1024));
    private const int MostBufferMegabytes = 65_536;

    /// <summary>Judges <paramref name="input"/> and makes options of it.</summary>
    /// <exception cref="ArgumentNullException"><paramref name="input"/> is null. Mistakes of the user are values, never
    /// exceptions.</exception>
    public static AgentOptionsParseResult Parse(AgentOptionsInput input)
    {
        ArgumentNullException.ThrowIfNull(input);
        var mistakes = new List<OptionMistake>();
        BackendTarget? upstream = input.OlderForm is { } older
            ? ParseOlderUpstream(input, older, mistakes)
            : ParseUpstream(input, mistakes);
        ServerEndpoint server = ParseServer(input, mistakes, out bool? wantsTls);
        TlsOptions? tls = TlsOptionsParser.Parse(input.Tls, server, wantsTls, mistakes);
        string? name = ParseName(input, mistakes);
        string? token = ParseToken(input, mistakes);
        UplinkPolicy uplinks = UplinkPolicy.Auto;
        if (input.Uplinks is { } uplinksText)
        {
            Note("--uplinks", UplinkPolicy.TryParse(uplinksText, out uplinks), mistakes);
        }

        int streams = ParseStreams(input, mistakes);
        ConnectionLimit connections = ConnectionLimit.Auto;
        if (input.BackendConnections is { } connectionsText)
        {
            Note("--backend-connections", ConnectionLimit.TryParse(connectionsText, out connections), mistakes);
        }

        int? buffers = ParseNumberOrAuto("--buffer-megabytes", input.BufferMegabytes, LeastBufferMegabytes, MostBufferMegabytes, mistakes);
        int? loops = ParseNumberOrAuto("--loops", input.Loops, 1, EpollEngine.MaxLoops, mistakes);
        HostHeaderPolicy hostHeader = HostHeaderPolicy.Keep;
        if (input.HostHeader is { } hostHeaderText)
        {
            Note("--host-header", HostHeaderPolicy.TryParse(hostHeaderText, out hostHeader), mistakes);
        }

        if (mistakes.Count > 0 || upstream is null)
        {
            return new AgentOptionsParseResult(null, [.. mistakes.Select(mistake => WithOrigin(mistake, input.Origins))]);
        }

        var options = new AgentOptions
        {
            AllowPlaintextToken = input.EnvironmentAllowPlaintext is "1" or "true",
            Tls = tls,
            Upstream = upstream,
            Server = server,
            Name = name ?? AgentName.CreateRandom(),
            Token = token,
            Uplinks = uplinks,
            MaxStreams = streams,
            BackendConnections = connections,
            BufferMegabytes = buffers,
            Loops = loops,
            HostHeader = hostHeader,
            WatchesBackend = true,
            ExitOnFailure = input.ExitOnFailure,
            Verbose = input.Verbose,
            Json = input.Json,
        };
        return new AgentOptionsParseResult(options, mistakes);
    }

    private static OptionMistake WithOrigin(OptionMistake mistake, IReadOnlyDictionary<string, string> origins) =>
        origins.TryGetValue(mistake.Flag, out string? origin) ? mistake with { Flag = origin } : mistake;

    private static BackendTarget? ParseUpstream(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (string.IsNullOrEmpty(input.Upstream))
        {
            Note(UpstreamArgument, "say what to forward: a port, host:port or URL, as in 'tunnel2 http 3000'", mistakes);
            return null;
        }

        Note(UpstreamArgument, BackendTarget.TryParse(input.Upstream, out BackendTarget? target), mistakes);
        return target;
    }

    private static BackendTarget? ParseOlderUpstream(AgentOptionsInput input, OlderFormInput older, List<OptionMistake> mistakes)
    {
        if (input.Upstream is not null)
        {
            Note(UpstreamArgument, "cannot go with the older form (--dev-session-id …)", mistakes);
        }

        string host = older.BackendHost ?? "127.0.0.1";
        bool hostIsGood = NoteHost("--backend-host", host, mistakes);
        if (older.BackendPort is null)
        {
            Note("--backend-port", "is missing; the older form needs it", mistakes);
            return null;
        }

        return ParsePort("--backend-port", older.BackendPort, mistakes) is { } port && hostIsGood
            ? new BackendTarget(false, WithoutBrackets(host), port)
            : null;
    }

    private static ServerEndpoint ParseServer(AgentOptionsInput input, List<OptionMistake> mistakes, out bool? wantsTls)
    {
        wantsTls = null;
        ServerEndpoint server = ServerEndpoint.Default;
        bool isOlder = input.OlderForm is { TunnelHost: not null } or { TunnelPort: not null };
        if (input.Server is { } flag)
        {
            server = ParseServerText("--server", TlsOptionsParser.TakeScheme(flag, out wantsTls), mistakes);
            if (isOlder)
            {
                Note("--server", "cannot go with --tunnel-host or --tunnel-port", mistakes);
            }
        }
        else if (!string.IsNullOrEmpty(input.EnvironmentServer) && input.OlderForm?.TunnelHost is null)
        {
            server = ParseServerText("TUNNEL2_SERVER", TlsOptionsParser.TakeScheme(input.EnvironmentServer, out wantsTls), mistakes);
        }

        if (input.OlderForm?.TunnelHost is { } tunnelHost)
        {
            string host = TlsOptionsParser.TakeScheme(tunnelHost, out wantsTls);
            server = NoteHost("--tunnel-host", host, mistakes) ? server with { Host = WithoutBrackets(host) } : server;
        }

        return input.OlderForm?.TunnelPort is { } port && ParsePort("--tunnel-port", port, mistakes) is { } number
            ? server with { Port = number }
            : server;
    }

    private static ServerEndpoint ParseServerText(string flag, string text, List<OptionMistake> mistakes)
    {
        if (text.Contains("://", StringComparison.Ordinal))
        {
            Note(
                flag,
                $"'{text[..(text.IndexOf("://", StringComparison.Ordinal) + 3)]}' does not belong here; give host:port, with tls:// or "
                    + $"tcp:// in front if it must be",
                mistakes);
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
        if (input.Name is { } nameText)
        {
            Note(givenBy = "--name", AgentName.TryParse(nameText, out name), mistakes);
        }

        if (input.PublicUrl is { } url)
        {
            Note("--url", AgentName.TryParseUrl(url, out string fromUrl), mistakes);
            if (givenBy is not null && name != fromUrl)
            {
                Note("--url", "asks for another name than --name; give one of them", mistakes);
            }

            name = fromUrl;
            givenBy = "--url";
        }

        if (input.OlderForm is { } older)
        {
            if (givenBy is not null)
            {
                Note(givenBy, "cannot go with --dev-session-id, which is the name", mistakes);
            }

            if (older.SessionId is null)
            {
                Note("--dev-session-id", "is missing; the older form needs it", mistakes);
            }
            else if (!Guid.TryParse(older.SessionId, out Guid id))
            {
                Note("--dev-session-id", $"'{older.SessionId}' is not a GUID", mistakes);
            }
            else
            {
                name = id.ToString("D");
            }
        }

        return name;
    }

    private static int ParseStreams(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (input.Streams is not { } text)
        {
            return ProtocolLimits.MaxSlots;
        }

        bool isGood = int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int streams)
            && streams is >= 1 and <= ProtocolLimits.MaxSlots;
        Note("--streams", isGood ? null : $"'{text}' is not a number from 1 to {ProtocolLimits.MaxSlots}", mistakes);
        return isGood ? streams : ProtocolLimits.MaxSlots;
    }

    private static int? ParseNumberOrAuto(string flag, string? text, int least, int most, List<OptionMistake> mistakes)
    {
        if (text is null || text.Equals("auto", StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        bool isGood = int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number)
            && number >= least
            && number <= most;
        Note(flag, isGood ? null : $"'{text}' is not auto or a number from {least} to {most}", mistakes);
        return isGood ? number : null;
    }

    private static string? ParseToken(AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        string flag = input.Token is null ? "TUNNEL2_TOKEN" : "--token";
        string? token = input.Token ?? (input.EnvironmentToken is { Length: > 0 } fromEnvironment ? fromEnvironment : null);
        if (token is null)
        {
            return null;
        }

        // Says what is wrong without showing any of it.
        if (token.Length is 0 or > MaxTokenLength || !token.All(static c => c is > ' ' and < '\x7f'))
        {
            Note(flag, $"is not a token: 1 to {MaxTokenLength} printable ASCII characters without spaces", mistakes);
        }

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
