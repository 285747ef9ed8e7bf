using System.Net;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Doctor;
using Tunnel2.Client.Logins;
using Tunnel2.Client.States;
using Tunnel2.Client.Variables;
using Tunnel2.Protocol;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Commands;

/// <summary>
/// <c>tunnel2 doctor</c>: looks for what is wrong between this machine, the server and the service, each with its remedy. It takes no name
/// from an agent: its session has a random one.
/// </summary>
internal static class DoctorCommand
{
    private const int FewFiles = 4096;
    private const string Upstream = "<upstream>";
    private const string NoUrl =
        "not looked at, nor the name: the token is for certain names, and a session with another one learns no public URL";

    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(5);

    /// <summary>Runs all looks.</summary>
    public static async Task<int> RunAsync(CommandConsole console, CancellationToken stop)
    {
        StoredLogin? login = StoredLogin.TryRead(console.Environment, out string? loginMistake);
        var input = new AgentOptionsInput().Give(Upstream, console.Line.Argument);
        foreach (CommandOption option in console.Line.Command!.Options.Where(option => console.Line.Has(option.Flag)))
        {
            input = input.Give(option.Flag, option.IsSwitch ? "true" : console.Line[option.Flag]);
        }

        input = EnvironmentFallback.Apply(input, console.Environment, isOneTunnel: true, login);
        bool isNamed = (input[Upstream] ?? input[RouteOptionsParser.Flag]) is not null;
        input = isNamed ? input : input.Give(Upstream, "1");
        AgentOptionsParseResult parsed = AgentOptionsParser.Parse(input);
        if (loginMistake is not null || parsed.Options is null)
        {
            return await console.MistakeAsync(loginMistake ?? string.Join("; ", parsed.Mistakes.Select(static one => one.ToString())));
        }

        AgentOptions options = parsed.Options;
        List<Finding> findings = [LookAtServerName(input), LookAtProxy(console, options), LookAtFiles()];
        findings.AddRange(await LookAtNetworkAsync(options, stop));
        string publicHost = "name.tunnel.example";
        try
        {
            var (found, urls) = await LookAtSessionAsync(console, options, stop);
            findings.AddRange(found);
            if (urls.FirstOrDefault(static url => url.StartsWith("http", StringComparison.OrdinalIgnoreCase)) is { } first
                && Uri.TryCreate(first, UriKind.Absolute, out Uri? url))
            {
                string? name = input["--name"] is null && input["--url"] is null ? null : options.Name;
                Uri called = name is null ? url : WithName(url, name);
                publicHost = called.Host;
                string? owner = name is null ? null : await FindOwnAgentAsync(console, name, stop);
                findings.AddRange(await PublicLook.RunAsync(called, name, owner, console.Time, stop));
            }
            else
            {
                findings.Add(await PublicLook.RunForClockAsync(VisitorsAddress(options), console.Time, stop));
            }
        }
        catch (IOException exception)
        {
            findings.Add(Finding.Wrong("session", exception.Message, "correct the file, or the flag that names it"));
        }

        findings.Add(isNamed
            ? await ServiceLook.RunAsync(options.Upstream, options.HostHeader, publicHost, stop)
            : Finding.Skipped("service", "none was named; 'tunnel2 doctor 3000' looks at it too"));
        foreach (ServiceRoute route in options.Routes)
        {
            Finding found = await ServiceLook.RunAsync(route.Target, options.HostHeader, publicHost, stop);
            findings.Add(found with { Message = $"{route.Path}: {found.Message}" });
        }

        if (stop.IsCancellationRequested)
        {
            return await console.FailAsync("stopped", AgentExitCode.InternalError);
        }

        return await WriteAsync(console, findings);
    }

    private static Finding LookAtServerName(AgentOptionsInput input) => input["--server"] is { } server
        ? Finding.Ok("server", $"{server}, from {input.OriginOf("--server")}")
        : Finding.Warning(
            "server", $"none is named, so it is this machine: {ServerEndpoint.Default}",
            "'tunnel2 login HOST' once, or --server HOST[:PORT]");

    private static Finding LookAtProxy(CommandConsole console, AgentOptions options)
    {
        if (options.Proxy is { } proxy)
        {
            return Finding.Ok("proxy", $"the server is reached through {proxy}");
        }

        bool hasHttpAlone = !string.IsNullOrEmpty(console.Environment("http_proxy") ?? console.Environment("HTTP_PROXY"))
            && ProxyOptionsParser.Variables.All(name => string.IsNullOrEmpty(console.Environment(name)));
        return hasHttpAlone
            ? Finding.Warning("proxy", "http_proxy is set, which is not for this; HTTPS_PROXY is not", "set HTTPS_PROXY, or --proxy URL")
            : Finding.Ok("proxy", "none is used");
    }

    private static Finding LookAtFiles()
    {
        int files = OpenFiles.Limit();
        return files < FewFiles
            ? Finding.Warning(
                "files", $"a process may have {files} files open, and each request under way needs some",
                "ulimit -n 65536, or LimitNOFILE=")
            : Finding.Ok("files", $"a process may have {files} files open");
    }

    /// <summary>The name's addresses, and whether the port where agents connect takes a connection at each of them.</summary>
    private static async Task<IReadOnlyList<Finding>> LookAtNetworkAsync(AgentOptions options, CancellationToken stop)
    {
        if (options.Proxy is not null)
        {
            return [Finding.Skipped("dns", "the proxy resolves the server's name"), Finding.Skipped("port", "the proxy connects to it")];
        }

        using var limit = CancellationTokenSource.CreateLinkedTokenSource(stop);
        limit.CancelAfter(_patience);
        ServerEndpoint server = options.ServerOn(options.Uplink);
        IPAddress[] addresses;
        try
        {
            addresses = await Dns.GetHostAddressesAsync(server.Host, limit.Token).WaitAsync(limit.Token);
        }
        catch (Exception exception) when (exception is SocketException or ArgumentException or OperationCanceledException)
        {
            return
            [
                Finding.Wrong(
                    "dns", $"'{server.Host}' has no address ({exception.Message})", "correct the name, or this machine's resolver"),
                Finding.Skipped("port", "there is no address"),
            ];
        }

        Finding dns = Finding.Ok("dns", $"{server.Host} is {string.Join(", ", addresses.Take(8).Select(static one => one.ToString()))}");
        return [dns, .. await PortLook.RunAsync(server, addresses, NotReached, limit.Token)];

        Finding NotReached(Exception exception)
        {
            string message = ConnectFailure.From(server, options.Uplink, exception).Message;
            return options.MayChangeWay
                ? Finding.Warning("port", message, "the agent goes over WebSocket to the public port while this one cannot be reached")
                : Finding.Wrong("port", message, $"start the server, or open its {PortOf(options)} in the firewall");
        }
    }

    /// <summary>Certificate, version and token, by a session with a random name.</summary>
    private static async Task<(IReadOnlyList<Finding> Findings, IReadOnlyList<string> Urls)> LookAtSessionAsync(
        CommandConsole console, AgentOptions options, CancellationToken stop)
    {
        var (end, urls) = await ServerTrial.RunAsync(console, options with { Name = AgentName.CreateRandom() }, stop);
        string message = OptionWords.Of(console.Line.Command!, end?.Message ?? "");
        Finding tls = options.Tls is null
            ? Finding.Ok("tls", "the uplink is not encrypted")
            : Finding.Ok("tls", "the server's certificate is trusted");
        Finding token = Finding.Ok("token", options.Token is null ? "the server wants none" : "the server accepts it");
        Finding version = Finding.Ok("version", $"tunnel2 {HelpText.VersionNumber} and the server have a protocol version in common");
        return end switch
        {
            null => ([tls, version, token], urls),
            { Rejection.Reason: RejectionReason.NameNotAllowed or RejectionReason.NameTaken or RejectionReason.NameKept } =>
                ([tls, version, token, Finding.Skipped("public", NoUrl)], urls),
            { Failure.WithoutTls: { } way } => ([Finding.Wrong("tls", message, RemedyWithoutTls(way))], urls),
            { Failure.IsOutOfDate: true } => (
                [
                    Finding.Wrong(
                        "tls", message,
                        "set this machine's clock by NTP (timedatectl set-ntp true); where it is right, the server needs another "
                            + "certificate"),
                ],
                urls),
            { Failure.Reason: ConnectFailureReason.TlsFailed } => (
                [
                    Finding.Wrong(
                        "tls", message,
                        "'tunnel2 login SERVER' shows the certificate and stores the trust; or --server-ca, --server-fingerprint"),
                ],
                urls),
            { Rejection.Reason: RejectionReason.TlsRequired } =>
                ([Finding.Wrong("tls", message, "write tls:// or nothing before the server's name")], urls),
            { Rejection.Reason: RejectionReason.VersionUnsupported } =>
                ([tls, Finding.Wrong("version", message, "update the older of the two")], urls),
            { Rejection.Reason: RejectionReason.Unauthorized or RejectionReason.TokenExpired } =>
                ([tls, version, Finding.Wrong("token", message, "'tunnel2 login SERVER' asks for it and checks it")], urls),
            { Reason: ConnectionEndReason.ServerUnreachable } => ([Finding.Wrong("session", message, RemedyOf(end, options))], urls),
            _ => ([tls, Finding.Warning("session", message, "try again in a minute")], urls),
        };
    }

    private static string RemedyOf(ConnectionEnd end, AgentOptions options) => end.Failure?.Reason switch
    {
        ConnectFailureReason.NotTunnel2 or ConnectFailureReason.HttpServer or ConnectFailureReason.PublicPort =>
            options.Uplink == UplinkWay.WebSocket
                ? "name the server's public port: --server wss://HOST:PORT"
                : "name the server's uplink port: --server HOST:PORT",
        ConnectFailureReason.SpeaksTls => "write tls:// before the server's name",
        ConnectFailureReason.ProxyAuthentication => "give the proxy a user: --proxy http://USER:PASSWORD@HOST:PORT",
        _ when options.Proxy is not null => "correct --proxy or HTTPS_PROXY; --proxy off goes without one",
        _ => $"start the server, correct --server, or open its {PortOf(options)} in the firewall",
    };

    /// <summary>No trust in a certificate helps where none is shown.</summary>
    private static string RemedyWithoutTls(UplinkWay way) => way == UplinkWay.WebSocket
        ? "the port does not speak TLS: name the server's HTTPS port, --server wss://HOST:PORT; ws:// goes without TLS, on a safe network"
        : "the port does not speak TLS: name the uplink port, --server HOST:PORT, or let the server encrypt it "
            + "(Tunnel2:Uplink:Certificate); tcp:// before its name goes without TLS, on a safe network";

    /// <summary>The port that agents cannot do without.</summary>
    private static string PortOf(AgentOptions options) => options.Uplink == UplinkWay.WebSocket ? "public port" : "uplink port";

    private static async Task<string?> FindOwnAgentAsync(CommandConsole console, string name, CancellationToken stop)
    {
        IReadOnlyList<AgentReport> agents = await StatusReader.ReadAsync(console.Environment, console.Time, stop);
        return agents.FirstOrDefault(agent => agent.Tunnels.Any(tunnel => tunnel.Name == name)) is { } own ? $"{own.ProcessId}" : null;
    }

    /// <summary>Where the server answers visitors of any name: as agents over WebSocket find it.</summary>
    private static Uri VisitorsAddress(AgentOptions options) =>
        new($"{(options.Tls is null ? Uri.UriSchemeHttp : Uri.UriSchemeHttps)}://{options.ServerOn(UplinkWay.WebSocket)}/");

    /// <summary>The URL of another name of the same server.</summary>
    private static Uri WithName(Uri url, string name)
    {
        int dot = url.Host.IndexOf('.', StringComparison.Ordinal);
        return dot < 0 ? url : new UriBuilder(url) { Host = name + url.Host[dot..] }.Uri;
    }

    private static async Task<int> WriteAsync(CommandConsole console, List<Finding> findings)
    {
        bool isWrong = findings.Any(static one => one.State == FindingState.Wrong);
        int exitCode = isWrong ? AgentExitCode.No : AgentExitCode.Stopped;
        if (console.IsJson)
        {
            return await console.WriteJsonAsync(
                json =>
                {
                    json.WriteBoolean("ok", !isWrong);
                    json.WriteStartArray("findings");
                    foreach (Finding one in findings)
                    {
                        json.WriteStartObject();
                        json.WriteString("name", one.Name);
                        json.WriteString("state", one.Word);
                        json.WriteString("message", one.Message);
                        if (one.Remedy is { } remedy)
                        {
                            json.WriteString("remedy", remedy);
                        }

                        json.WriteEndObject();
                    }

                    json.WriteEndArray();
                },
                exitCode);
        }

        var text = new StringBuilder();
        foreach (Finding one in findings)
        {
            text.Append(PlainText.Clean($"{one.Word,-8} {one.Name,-8} {one.Message}", 2 * PlainText.MaxLength)).Append('\n');
            if (one.Remedy is { } remedy)
            {
                text.Append(PlainText.Clean($"                  -> {remedy}")).Append('\n');
            }
        }

        return await console.WriteAsync(text.ToString(), exitCode);
    }
}
