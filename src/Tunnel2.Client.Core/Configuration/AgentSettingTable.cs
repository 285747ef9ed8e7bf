using System.Globalization;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// All settings of the agent, in the order of the help text. A new one is one more entry, with a property of <see cref="AgentOptions"/>
/// for the code that uses it: command line, file, environment, help and the documents' tables follow.
/// </summary>
internal static class AgentSettingTable
{
    private const int LeastBufferMegabytes = (int)(ReceiveBudget.SmallestLimit / (1024 * 1024));

    private const int MostMasks = 100;
    private const int MostInspectorMegabytes = 1024;
    private const int LeastInspectorToken = 16;

    /// <summary>The words for the headers of the PROXY protocol.</summary>
    private static readonly string[] _headers = ["off", "v1", "v2"];

    private static readonly AgentSetting[] _all =
    [
        new(
            "<upstream>", "PORT|URL", "", "what to forward to: a port, host:port or URL (http, https, h2c)",
            AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel),
        new(
            "protocol", "http|tcp|tls|udp", "http", "what a tunnel of a file carries; on the command line this is the command",
            AgentSettingPlaces.Tunnel),
        new(
            "--server", "HOST[:PORT]", "127.0.0.1:12001",
            "the server's uplink address; encrypted unless it is this machine; tls://HOST or tcp://HOST (plaintext) decides; wss://HOST: "
            + "its public address; several nodes of a cluster with commas, at most 4") { IsRepeatable = true },
        new(
            "--server-fingerprint", "F", "",
            "trust the server by its certificate's fingerprint, sha256:…, as it prints it at its start; several with commas"),
        new("--server-ca", "FILE", "the system's", "trust the authorities in this PEM file"),
        new("--client-cert", "FILE", "", "a certificate (PEM) that lets the agent in instead of a token"),
        new("--client-key", "FILE", "", "its key, where it is not in the same file"),
        new(
            "--uplink", "auto|direct|wss", "auto",
            "how the server is reached: direct at its uplink port; wss: over WebSocket at its public port; auto: wss while direct fails",
            Read: static (string text, ref AgentOptions options) =>
            {
                UplinkWay? way = text.ToLowerInvariant() switch
                {
                    "auto" => UplinkWay.Auto,
                    "direct" => UplinkWay.Direct,
                    "wss" or "ws" => UplinkWay.WebSocket,
                    _ => null,
                };
                options = options with { Uplink = way ?? UplinkWay.Auto };
                return way is null ? $"'{text}' is not auto, direct or wss" : null;
            }),
        new(
            "--public-port", "PORT", "443, without TLS 80",
            "the server's public port, for the uplink over WebSocket; with a server on this machine 'auto' uses it only where it is given",
            Read: static (string text, ref AgentOptions options) =>
            {
                var isGood = TryParse(text, 1, 65_535, out var port);
                options = options with { PublicPort = port };
                return isGood ? null : $"'{text}' is not a port (1 to 65535)";
            }),
        new(
            "--proxy", "URL|off", "HTTPS_PROXY",
            "reach the server through this proxy: http://user:password@host:port (CONNECT), https://… or socks5://…; HTTPS_PROXY and "
            + "NO_PROXY count too"),
        new("--proxy-ca", "FILE", "the system's", "trust the authorities in this PEM file for the certificate of a proxy of https://"),
        new(
            "--name", "NAME", "10 random characters",
            "the public name: 1 to 50 characters of a-z, 0-9 and -; several times for several names",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel)
            { Aliases = ["--subdomain"], IsRepeatable = true },
        new(
            DomainOptionsParser.Flag, "DOMAIN", "",
            "a domain of your own that leads to the server, which has to permit it: app.example.org, *.example.org; "
            + "'example.org=>www.example.org' redirects; several with commas, or several times",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            DomainOptionsParser.Read) { IsRepeatable = true },
        new(
            "--url", "URL", "", "a public URL or host whose first part is the name, such as https://web.example.com",
            AgentSettingPlaces.Flag),
        new(
            "--token", "TOKEN", "",
            "the secret that lets the agent in; better in the variable, because other users can see a command line")
            { Aliases = ["--authtoken"] },
        new(
            "--token-file", "FILE", "",
            "a file whose only line is the token, in place of --token: for services and containers"),
        new(
            "--remote-port", "PORT", "any that the server gives", "the public port of a tunnel of TCP or UDP",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            static (string text, ref AgentOptions options) =>
            {
                var isGood = TryParse(text, 1, 65_535, out var port);
                options = options with { RemotePort = port };
                return isGood ? null : $"'{text}' is not a port (1 to 65535)";
            }),
        new(
            "--proxy-protocol", "off|v1|v2", "off",
            "with 'tcp' and 'tls': the service gets the visitor's address first, in a header of the PROXY protocol",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            static (string text, ref AgentOptions options) =>
            {
                var version = Array.IndexOf(_headers, text.ToLowerInvariant());
                options = options with { ProxyProtocol = Math.Max(0, version) };
                return version < 0 ? $"'{text}' is not off, v1 or v2" : null;
            }),
        new(
            "--host-header", "MODE", "keep", "keep: the service sees the visitor's Host; rewrite: its own; or a fixed value",
            Read: static (string text, ref AgentOptions options) =>
            {
                var mistake = HostHeaderPolicy.TryParse(text, out HostHeaderPolicy policy);
                options = options with { HostHeader = policy };
                return mistake;
            }),
        new(
            "--backend-protocol", "auto|h1|h2", "auto",
            "version of HTTP towards the service: h1, h2, or auto: what an https service chooses, else h2 for gRPC and h1 for the rest",
            Read: static (string text, ref AgentOptions options) =>
            {
                BackendProtocol? protocol = text.ToLowerInvariant() switch
                {
                    "auto" => BackendProtocol.Auto,
                    "h1" => BackendProtocol.Http1,
                    "h2" => BackendProtocol.Http2,
                    _ => null,
                };
                options = options with { BackendProtocol = protocol ?? BackendProtocol.Auto };
                return protocol is null ? $"'{text}' is not auto, h1 or h2"
                    : protocol == BackendProtocol.Http1 && options.Upstream.IsHttp2 ? "h1 contradicts the scheme h2c://"
                    : null;
            }),
        new(
            RouteOptionsParser.Flag, "PATH=SERVICE", "",
            "with 'http': another service for the paths below this one, as in /api=3000, several times for several; the longest path "
            + "counts, and ',strip-prefix' after the service takes it off",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            RouteOptionsParser.Read) { Key = "routes", IsRepeatable = true, IsTable = true },
        new(
            "--basic-auth", "USER:PASSWORD", "",
            "with 'http': visitors log in; several times for several users. In place of the password its hash ('tunnel2 hash-password')",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            AccessOptionsParser.ReadUsers) { IsRepeatable = true, IsGuard = true },
        new(
            "--allow-ip", "CIDR", "all",
            "only visitors from these addresses or networks; several with commas, or several times",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            AccessOptionsParser.ReadAllowed) { Aliases = ["--allow"], IsRepeatable = true, IsGuard = true },
        new(
            "--deny-ip", "CIDR", "",
            "no visitors from these addresses or networks, also where they are allowed; several with commas, or several times",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            AccessOptionsParser.ReadDenied) { Aliases = ["--deny"], IsRepeatable = true, IsGuard = true },
        new(
            "--jwt-issuer", "URL", "",
            "with 'http': visitors show a token (JWT) of this issuer, which the server's settings have to permit",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            AccessOptionsParser.ReadIssuer) { IsGuard = true },
        new(
            "--jwt-audience", "NAME", "",
            "with --jwt-issuer: the audience (aud) that these tokens have to be for",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            AccessOptionsParser.ReadAudience) { IsGuard = true },
        new(
            "--oidc", "NAME", "",
            "with 'http': visitors sign in at this gate of the server, an OpenID Connect provider",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            AccessOptionsParser.ReadGate) { IsGuard = true },
        new(
            ClientCaParser.Flag, "FILE", "",
            "with 'http': visitors show a certificate of these authorities (PEM, at most 4) in the TLS handshake with the server; there is "
            + "no way in without HTTPS",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            ClientCaParser.Read) { IsGuard = true },
        new(
            "--policy", "FILE", "",
            "with 'http': what happens to requests, row by row (JSON; in a file of tunnels the rows themselves): allow, deny, redirect, "
            + "answer, headers, limits; 'tunnel2 policy test' tries it",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            PolicyOptionsParser.Read) { IsTable = true, IsGuard = true },
        new(
            "--verify-webhook", "github|gitlab|stripe|slack|twilio|standard[:SECRET]", "",
            "with 'http': requests have to be signed by this provider of webhooks; the secret follows it, or is in --webhook-secret-file: "
            + "other users can see a command line",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            WebhookOptionsParser.ReadProvider) { IsGuard = true },
        new(
            "--webhook-secret-file", "FILE", "",
            "its secrets, one in each line, at most 4: while one is replaced, the new one and the old one",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            WebhookOptionsParser.ReadSecrets),
        Switch(
            "--pool",
            "share the name, or with 'tcp' and 'udp' the port, with other agents of the same token, or without a token of the same "
            + "user: each request or connection goes to one of them",
            static (options, isOn) => options with { Pool = isOn },
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel),
        new(
            "--health-check", "PATH|tcp", "",
            "with --pool: a path of the service that answers 200 to 399 while it works, or tcp: it takes connections; while it does not, "
            + "other agents serve",
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            static (string text, ref AgentOptions options) =>
            {
                options = options with { Health = options.Health with { Target = text } };
                return HealthCheck.FindMistake(text);
            }),
        Health(
            "--health-interval", 300, 5, "seconds from one check to the next, 1 to 300",
            static (health, number) => health with { Interval = TimeSpan.FromSeconds(number) }),
        Health(
            "--health-timeout", 60, 3, "seconds that a check may take, 1 to 60",
            static (health, number) => health with { Timeout = TimeSpan.FromSeconds(number) }),
        Health(
            "--health-failures", 20, 3, "checks in a row that fail until the service counts as unhealthy, 1 to 20",
            static (health, number) => health with { Failures = number }),
        Health(
            "--health-successes", 20, 2, "checks in a row that succeed until it counts as healthy again, 1 to 20",
            static (health, number) => health with { Successes = number }),
        new(
            "--nodes", "N", "2",
            "nodes of a cluster that the tunnel has sessions with at the same time, 1 to 4; 1 uses none that the server announces",
            AgentSettingPlaces.All,
            static (string text, ref AgentOptions options) =>
            {
                var isGood = TryParse(text, 1, 4, out var number);
                options = options with { Nodes = number };
                return isGood ? null : $"'{text}' is not a number from 1 to 4";
            }),
        Number(
            "--uplinks", 1, UplinkPolicy.MaxCount, "connections to the server, 1 to 16; auto is 1 to 4 by load",
            static (options, number) => options with { Uplinks = number is { } count ? UplinkPolicy.Fixed(count) : UplinkPolicy.Auto },
            AgentSettingPlaces.All),
        new(
            "--streams", "N", "65536", "requests that a tunnel takes at once, 1 to 65536; those beyond get 503",
            Read: static (string text, ref AgentOptions options) =>
            {
                var isGood = TryParse(text, 1, ProtocolLimits.MaxSlots, out var number);
                options = options with { MaxStreams = number };
                return isGood ? null : $"'{text}' is not a number from 1 to {ProtocolLimits.MaxSlots}";
            }),
        Number(
            "--backend-connections", 1, ConnectionLimit.MaxCount,
            "connections to services at once, of all tunnels together; requests beyond wait their turn; auto is what the limit of open "
            + "files leaves",
            static (options, number) => options with
            {
                BackendConnections = number is { } count ? ConnectionLimit.Fixed(count) : ConnectionLimit.Auto,
            }),
        Number(
            "--buffer-megabytes", LeastBufferMegabytes, 65_536,
            "MiB held of uploads that services do not take, 16 to 65536; beyond it stalled ones are cut; auto is a quarter of "
            + "the memory, 16 to 256",
            static (options, number) => options with { BufferMegabytes = number }),
        Number(
            "--loops", 1, EpollEngine.MaxLoops,
            "event loops, a thread each, 1 to 32; auto is one, and one more with each further connection to the server, up to the "
            + "processors",
            static (options, number) => options with { Loops = number }),
        Switch(
            "--exit-on-failure", "end with exit code 4 when the server cannot be reached, instead of trying again",
            static (options, isOn) => options with { ExitOnFailure = isOn }),
        Switch(
            "--verbose", "a line for every request and every attempt to connect",
            static (options, isOn) => options with { Verbose = isOn }),
        Switch("--json", "one JSON object per line instead of text", static (options, isOn) => options with { Json = isOn }),
        Switch(
            "--plain", "lines instead of the live screen that 'http' shows on a terminal",
            static (options, isOn) => options with { Plain = isOn }, AgentSettingPlaces.Flag | AgentSettingPlaces.Variable),
        Switch(
            "--inspect",
            "keep the last requests and show them in a browser; on by itself where the output is a terminal, unless TUNNEL2_INSPECT=0",
            static (options, isOn) => options with { Inspects = isOn }),
        new(
            "--inspect-listen", "ADDRESS|off", "127.0.0.1:4040 to 4049",
            "where the inspector listens: a port or address:port; off turns it off; beyond this machine it needs TUNNEL2_INSPECT_TOKEN",
            AgentSettingPlaces.Process,
            static (string text, ref AgentOptions options) =>
            {
                if (text.Equals("off", StringComparison.OrdinalIgnoreCase))
                {
                    options = options with { Inspects = false };
                    return null;
                }

                var mistake = InspectorAddress.TryParse(text, out var address);
                options = options with { InspectorAddress = address, Inspects = options.Inspects ?? true };
                return mistake;
            }),
        new(
            "--inspect-hosts", "LIST", "", "further names by which the inspector is called, with commas, such as that of a forwarded port",
            AgentSettingPlaces.Process,
            static (string text, ref AgentOptions options) =>
            {
                options = options with { InspectorHosts = List(text) };
                return options.InspectorHosts.FirstOrDefault(static host => HostPort.TrySplit(host, out _, out _) is not null) is { } wrong
                    ? HostPort.TrySplit(wrong, out _, out _)
                    : null;
            }),
        new(
            "--inspect-mask", "LIST", "", "further fields and JSON keys whose values the inspector masks, with commas and *",
            AgentSettingPlaces.Process,
            static (string text, ref AgentOptions options) =>
            {
                options = options with { InspectorMasks = List(text) };
                return options.InspectorMasks.Count > MostMasks ? $"has more than {MostMasks} names" : null;
            }),
        new(
            "--inspect-megabytes", "N", "16", "MiB that the kept requests of a tunnel may take, 1 to 1024; the oldest make room",
            AgentSettingPlaces.Process,
            static (string text, ref AgentOptions options) =>
            {
                var isGood = TryParse(text, 1, MostInspectorMegabytes, out var number);
                options = options with { InspectorMegabytes = number };
                return isGood ? null : $"'{text}' is not a number from 1 to {MostInspectorMegabytes}";
            }),
        new("--config", "FILE", "tunnels.yml", "the file of 'start'", AgentSettingPlaces.Flag | AgentSettingPlaces.Variable),
        Switch(
            "allow-plaintext", "the token and secrets of webhooks may leave this machine unencrypted",
            static (options, isOn) => options with { AllowPlaintextToken = isOn }, AgentSettingPlaces.Variable),
        new(
            "inspect-token", "TOKEN", "", "the secret that callers of the inspector show where it listens beyond this machine",
            AgentSettingPlaces.Variable,
            static (string text, ref AgentOptions options) =>
            {
                options = options with { InspectorToken = text };
                return text.Length is >= LeastInspectorToken and <= 1024
                    ? null
                    : $"has fewer than {LeastInspectorToken} characters, or more than 1024";
            }),
        new("--dev-session-id", "GUID", "", "becomes the name", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--backend-host", "H", "127.0.0.1", "the service's host", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--backend-port", "P", "", "the service's port", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--tunnel-host", "H", "that of --server", "the server's host", AgentSettingPlaces.Flag) { IsOlderForm = true },
        new("--tunnel-port", "P", "12001", "the server's port", AgentSettingPlaces.Flag) { IsOlderForm = true },
    ];

    /// <summary>All of them.</summary>
    public static IReadOnlyList<AgentSetting> All => _all;

    /// <summary>Variables that other parts of the program read, each with what it does.</summary>
    public static IReadOnlyList<(string Name, string Words)> OtherVariables { get; } =
    [
        ("TUNNEL2_WINDOWS_SERVICE", "set by 'service install' on Windows: the process is the service of this name"),
        (EngineVariables.Engine, "what serves connections: auto, epoll (Linux on x64 or arm64, where auto means it) or portable"),
        (
            ProxyOptionsParser.EnvironmentKey,
            "the proxy where none is given by --proxy; also https_proxy, ALL_PROXY, all_proxy; not for a server on this machine"),
        (ProxyOptionsParser.ExceptionsKey, "servers that HTTPS_PROXY is not for: names, addresses, networks, *; also no_proxy"),
        (
            "TUNNEL2_ADMIN_TOKEN",
            "a server's admin token, for 'token' and, as --token, for 'top' and, with --from URL, for 'inspect export'"),
        ("TUNNEL2_ADMIN_URL", "the --admin of 'token': a server's admin listener"),
    ];

    private static AgentSetting Health(string flag, int most, int standard, string words, Func<HealthCheck, int, HealthCheck> set) =>
        new(
            flag, "N", standard.ToString(CultureInfo.InvariantCulture), "with --health-check: " + words,
            AgentSettingPlaces.Flag | AgentSettingPlaces.VariableOfOneTunnel | AgentSettingPlaces.Tunnel,
            (string text, ref AgentOptions options) =>
            {
                var isGood = TryParse(text, 1, most, out var number);
                options = options with { Health = set(options.Health, number) };
                return isGood ? null : $"'{text}' is not a number from 1 to {most}";
            });

    private static AgentSetting Number(
        string flag,
        int least,
        int most,
        string words,
        Func<AgentOptions, int?, AgentOptions> set,
        AgentSettingPlaces places = AgentSettingPlaces.Process) =>
        new(flag, "auto|N", "auto", words, places, (string text, ref AgentOptions options) =>
        {
            if (text.Equals("auto", StringComparison.OrdinalIgnoreCase))
            {
                options = set(options, null);
                return null;
            }

            if (!TryParse(text, least, most, out var number))
            {
                return $"'{text}' is not auto or a number from {least} to {most}";
            }

            options = set(options, number);
            return null;
        });

    private static AgentSetting Switch(
        string flag, string words, Func<AgentOptions, bool, AgentOptions> set, AgentSettingPlaces places = AgentSettingPlaces.Process) =>
        new(flag, "", "", words, places, (string text, ref AgentOptions options) =>
        {
            var isOn = text.ToLowerInvariant() is "1" or "true" or "yes";
            options = set(options, isOn);
            return isOn || text.ToLowerInvariant() is "0" or "false" or "no" ? null : "is neither true nor false";
        });

    private static string[] List(string text) =>
        text.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);

    private static bool TryParse(string text, int least, int most, out int number) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number) && number >= least && number <= most;
}
