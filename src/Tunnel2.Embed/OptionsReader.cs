using System.Globalization;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Embed.Connections;

namespace Tunnel2.Embed;

/// <summary>
/// Makes the agent's options of a program's. All are judged as those of <c>tunnel2</c> are, and all mistakes are found at once; a mistake
/// names the option and shows no secret.
/// </summary>
internal static class OptionsReader
{
    private const string ServerFlag = "--server";
    private static readonly string[] _agentSchemes = ["tls://", "tcp://", "wss://", "ws://"];
    private const string ServiceFlag = "<upstream>";
    private const int MostProxies = 16;

    /// <summary>Of an app in this process.</summary>
    /// <param name="options">The options.</param>
    /// <param name="server">The server, as it was written.</param>
    /// <param name="app">The app.</param>
    public static TunnelSettings Read(Tunnel2EmbedOptions options, string server, EmbeddedApp app)
    {
        List<string> mistakes = options.ProxiesBeforeServer is >= 0 and <= MostProxies
            ? []
            : [string.Create(CultureInfo.InvariantCulture, $"{nameof(options.ProxiesBeforeServer)}: is not between 0 and {MostProxies}")];
        var agent = Read(options, server, new AgentOptionsInput().Give(ServiceFlag, "80"), mistakes);
        return new TunnelSettings(
            agent with
            {
                Upstream = new BackendTarget(false, "localhost", 80) { InProcess = app, Shown = "this app" },
                BackendProtocol = BackendProtocol.Http1,
                TrustsBackend = true,
                WatchesBackend = false,
            },
            options.StartRequiresTunnel);
    }

    /// <summary>Of a tunnel to a service elsewhere.</summary>
    public static TunnelSettings Read(Tunnel2AgentOptions options)
    {
        List<string> mistakes = [];
        if (string.IsNullOrWhiteSpace(options.Server))
        {
            mistakes.Add($"{nameof(options.Server)}: is missing, such as https://tunnel.example.com");
        }

        if (string.IsNullOrWhiteSpace(options.Service))
        {
            mistakes.Add($"{nameof(options.Service)}: is missing, such as 3000 or http://localhost:3000");
        }

        var input = new AgentOptionsInput()
            .Give(ServiceFlag, string.IsNullOrWhiteSpace(options.Service) ? "80" : options.Service, nameof(options.Service))
            .Give("--host-header", options.HostHeader, nameof(options.HostHeader));
        string server = string.IsNullOrWhiteSpace(options.Server) ? "localhost" : options.Server;
        return new TunnelSettings(Read(options, server, input, mistakes), options.StartRequiresTunnel);
    }

    private static AgentOptions Read(Tunnel2TunnelOptions options, string server, AgentOptionsInput input, List<string> mistakes)
    {
        input = GiveServer(input, server, mistakes)
            .Give("--name", options.Name, nameof(options.Name))
            .Give("--token", options.Token, nameof(options.Token))
            .Give("allow-plaintext", options.AllowPlaintextToken ? "1" : null, nameof(options.AllowPlaintextToken))
            .Give("--server-fingerprint", List(options.ServerFingerprints, ","), nameof(options.ServerFingerprints))
            .Give("--server-ca", options.ServerCaFile, nameof(options.ServerCaFile))
            .Give("--client-cert", options.ClientCertificateFile, nameof(options.ClientCertificateFile))
            .Give("--client-key", options.ClientKeyFile, nameof(options.ClientKeyFile))
            .Give("--proxy", options.Proxy, nameof(options.Proxy))
            .Give("--basic-auth", List(options.BasicAuth, "\n"), nameof(options.BasicAuth))
            .Give("--allow-ip", List(options.AllowIp, ","), nameof(options.AllowIp))
            .Give("--deny-ip", List(options.DenyIp, ","), nameof(options.DenyIp))
            .Give("--uplinks", options.Uplinks?.ToString(CultureInfo.InvariantCulture), nameof(options.Uplinks));
        var result = AgentOptionsParser.Parse(GiveProxy(input));
        mistakes.AddRange(result.Mistakes.Select(static mistake => mistake.ToString()));
        return mistakes.Count == 0 ? result.Options! : throw new Tunnel2OptionsException(mistakes);
    }

    /// <summary>A public URL becomes the host with the uplink's usual port, and the public port for WebSocket.</summary>
    private static AgentOptionsInput GiveServer(AgentOptionsInput input, string server, List<string> mistakes)
    {
        bool isHttps = server.StartsWith("https://", StringComparison.OrdinalIgnoreCase);
        if (!isHttps && !server.StartsWith("http://", StringComparison.OrdinalIgnoreCase))
        {
            if (!server.Contains("://", StringComparison.Ordinal)
                || _agentSchemes.Any(scheme => server.StartsWith(scheme, StringComparison.OrdinalIgnoreCase)))
            {
                return input.Give(ServerFlag, server, "Server");
            }

            mistakes.Add(
                "Server: begins with a scheme that does not belong here; give a URL such as https://tunnel.example.com, or host:port, with "
                    + "tls://, tcp://, wss:// or ws:// in front if it must be");
            return input;
        }

        string rest = server[(server.IndexOf("://", StringComparison.Ordinal) + 3)..];
        rest = rest.EndsWith('/') ? rest[..^1] : rest;
        string? mistake = HostPort.TrySplit(rest, out string host, out int? port);
        if (mistake is not null)
        {
            // Not repeated: a URL may hold a password.
            mistakes.Add(
                "Server: is not a URL with a host, perhaps with a port, and nothing else, such as https://tunnel.example.com");
            return input;
        }

        return input.Give(ServerFlag, (isHttps ? "tls://" : "tcp://") + HostPort.FormatHost(host), "Server")
            .Give("--public-port", port?.ToString(CultureInfo.InvariantCulture), "Server");
    }

    private static AgentOptionsInput GiveProxy(AgentOptionsInput input)
    {
        foreach (var (key, variables) in new[]
        {
            (ProxyOptionsParser.EnvironmentKey, ProxyOptionsParser.Variables),
            (ProxyOptionsParser.ExceptionsKey, ProxyOptionsParser.ExceptionVariables),
        })
        {
            foreach (string variable in variables)
            {
                input = input.Give(key, Environment.GetEnvironmentVariable(variable) is { Length: > 0 } text ? text : null, variable);
            }
        }

        return input;
    }

    private static string? List(IList<string> values, string separator) => values.Count == 0 ? null : string.Join(separator, values);
}
