using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Doctor;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Doctor;

public sealed class DoctorTests
{
    private static readonly DateTimeOffset _now = new(2026, 11, 23, 12, 0, 0, TimeSpan.Zero);

    [Theory]
    [InlineData(403, "Blocked request. This host (\"x\") is not allowed. add it to `server.allowedHosts` in vite.config.js", "Vite")]
    [InlineData(403, "Invalid Host header", "webpack-dev-server")]
    [InlineData(403, "<h1>Blocked hosts: x</h1> config.hosts << \"x\"", "Rails")]
    [InlineData(400, "<title>DisallowedHost at /</title> You may need to add 'x' to ALLOWED_HOSTS.", "Django")]
    [InlineData(400, "<!doctype html><h1>Bad Request (400)</h1>", "Django")]
    [InlineData(403, "set allowedDevOrigins in next.config", "Next.js")]
    public void A_known_server_that_refuses_the_host_is_recognised(int status, string body, string server)
    {
        var known = DevServers.Recognise(status, body, "web.example.com");
        Assert.Equal(server, known?.Server);
        Assert.Contains("web.example.com", known?.Remedy, StringComparison.Ordinal);
        Assert.Contains("--host-header rewrite", known?.Remedy, StringComparison.Ordinal);
    }

    [Fact]
    public void Webpack_before_version_5_refuses_with_200()
    {
        Assert.Equal("webpack-dev-server", DevServers.Recognise(200, "Invalid Host header", "h")?.Server);
        Assert.Null(DevServers.Recognise(200, "<p>Invalid Host header</p>", "h"));
        Assert.Null(DevServers.Recognise(200, "add it to `server.allowedHosts`: Blocked request.", "h"));
    }

    [Theory]
    [InlineData(null, "skipped")]
    [InlineData(0, "skipped")]
    [InlineData(576, "warning")]
    [InlineData(1279, "warning")]
    [InlineData(1280, "ok")]
    [InlineData(65536, "ok")]
    public void Small_packets_are_a_warning(int? size, string state) => Assert.Equal(state, PacketLook.Judge("tun0", size).Word);

    [Fact]
    public async Task The_packets_of_a_connection_are_looked_at()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(listener.LocalEndpoint, TestContext.Current.CancellationToken);
        Finding finding = PacketLook.Run(socket);
        Assert.Equal("mtu", finding.Name);
        Assert.True(!OperatingSystem.IsLinux() || finding.Word == "ok", finding.Message);
    }

    [Theory]
    [InlineData(ConnectFailureReason.Refused, "")]
    [InlineData(ConnectFailureReason.TlsFailed, "")]
    [InlineData(ConnectFailureReason.PublicPort, "")]
    [InlineData(ConnectFailureReason.ProxyUnreachable, " --proxy http://127.0.0.1:1")]
    [InlineData(ConnectFailureReason.ProxyAuthentication, " --proxy http://127.0.0.1:1")]
    public async Task A_server_that_is_not_reached_comes_with_a_remedy(ConnectFailureReason reason, string flags)
    {
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(5, await AgentCli.RunAsync(
            ("doctor --json --server 127.0.0.1:1" + flags).Split(' '), static _ => null,
            _ => new Runner((options, events) =>
            {
                events.ConnectionEnded(ConnectionEnd.Unreachable(ConnectFailure.Create(options.Server, reason)));
                return Task.FromResult(4);
            }),
            output, TextWriter.Null, TestContext.Current.CancellationToken));

        using var json = System.Text.Json.JsonDocument.Parse(output.ToString());
        var wrong = json.RootElement.GetProperty("findings").EnumerateArray()
            .Where(static one => one.GetProperty("state").GetString() == "wrong").ToArray();
        Assert.NotEmpty(wrong);
        Assert.All(wrong, static one => Assert.NotEmpty(one.GetProperty("remedy").GetString()!));
    }

    [Theory]
    [InlineData("--server tls://127.0.0.1:1", "name the uplink port", "tcp:// before its name goes without TLS")]
    [InlineData("--server wss://127.0.0.1:1", "name the server's HTTPS port", "ws:// goes without TLS")]
    public async Task Where_the_port_does_not_speak_TLS_no_trust_in_a_certificate_is_the_remedy(string flags, params string[] words)
    {
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(5, await AgentCli.RunAsync(
            ("doctor " + flags).Split(' '), static _ => null,
            _ => new Runner((options, events) =>
            {
                ConnectFailure failure = ConnectFailure.Create(
                    options.ServerOn(options.Uplink), options.Uplink, ConnectFailureReason.TlsFailed, "no TLS");
                events.ConnectionEnded(ConnectionEnd.Unreachable(failure with { WithoutTls = options.Uplink }));
                return Task.FromResult(4);
            }),
            output, TextWriter.Null, TestContext.Current.CancellationToken));

        string text = output.ToString();
        Assert.Contains("-> the port does not speak TLS: ", text, StringComparison.Ordinal);
        Assert.All(words, word => Assert.Contains(word, text, StringComparison.Ordinal));
        Assert.DoesNotContain("login", text, StringComparison.Ordinal);
        Assert.DoesNotContain("--server-ca", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Where_the_dates_of_a_certificate_do_not_fit_the_clock_is_the_remedy()
    {
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(5, await AgentCli.RunAsync(
            ["doctor", "--server", "tls://127.0.0.1:1"], static _ => null,
            _ => new Runner((options, events) =>
            {
                ConnectFailure failure = ConnectFailure.Create(options.Server, ConnectFailureReason.TlsFailed, "it has expired");
                events.ConnectionEnded(ConnectionEnd.Unreachable(failure with { IsOutOfDate = true }));
                return Task.FromResult(4);
            }),
            output, TextWriter.Null, TestContext.Current.CancellationToken));

        string text = output.ToString();
        Assert.Contains("-> set this machine's clock by NTP", text, StringComparison.Ordinal);
        Assert.DoesNotContain("login", text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("--server wss://127.0.0.1:1", 1)]
    [InlineData("--server 127.0.0.1 --uplink wss --public-port 1", 1)]
    public async Task Where_only_the_public_port_is_used_it_is_the_one_that_is_looked_at(string flags, int port)
    {
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(5, await AgentCli.RunAsync(
            ("doctor " + flags).Split(' '), static _ => null,
            _ => new Runner((options, events) =>
            {
                events.ConnectionEnded(ConnectionEnd.Unreachable(ConnectFailure.Create(
                    options.ServerOn(options.Uplink), options.Uplink, ConnectFailureReason.NotTunnel2)));
                return Task.FromResult(4);
            }),
            output, TextWriter.Null, TestContext.Current.CancellationToken));

        string text = output.ToString();
        Assert.Contains(
            $"port     Cannot open an uplink over WebSocket at 127.0.0.1:{port}: connection refused.", text, StringComparison.Ordinal);
        Assert.Contains("-> start the server, or open its public port in the firewall\n", text, StringComparison.Ordinal);
        Assert.Contains("-> name the server's public port: --server wss://HOST:PORT\n", text, StringComparison.Ordinal);
        Assert.DoesNotContain("12001", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_stop_ends_every_wait()
    {
        using var service = new TcpListener(IPAddress.Loopback, 0);
        service.Start();
        using var stop = new CancellationTokenSource();
        using var error = new StringWriter { NewLine = "\n" };
        Task<int> run = AgentCli.RunAsync(
            ["doctor", service.LocalEndpoint.ToString()!, "--server", "127.0.0.1:1"], static _ => null,
            _ => new Runner((options, events) =>
            {
                events.ConnectionEnded(ConnectionEnd.Unreachable(ConnectFailure.Create(options.Server, ConnectFailureReason.Refused)));
                return Task.FromResult(4);
            }),
            TextWriter.Null, error, stop.Token);
        using Socket silent = await service.AcceptSocketAsync(TestContext.Current.CancellationToken);
        await stop.CancelAsync();
        Assert.Equal(1, await run.WaitAsync(AsyncCounter.DefaultTimeout, TestContext.Current.CancellationToken));
        Assert.Equal("tunnel2: stopped\n", error.ToString());
    }

    [Theory]
    [InlineData(404, "Not found")]
    [InlineData(403, "Forbidden")]
    [InlineData(500, "Invalid Host header")]
    public void Other_answers_are_no_check_of_the_host(int status, string body) => Assert.Null(DevServers.Recognise(status, body, "h"));

    [Theory]
    [InlineData(0, "ok")]
    [InlineData(-29, "ok")]
    [InlineData(31, "warning")]
    [InlineData(-299, "warning")]
    [InlineData(301, "wrong")]
    [InlineData(-100_000_000, "wrong")]
    public void Clocks_are_compared(int seconds, string state) =>
        Assert.Equal(state, PublicLook.JudgeClock(_now.AddSeconds(seconds), _now).Word);

    [Fact]
    public void An_answer_without_a_date_says_nothing() => Assert.Equal("skipped", PublicLook.JudgeClock(null, _now).Word);

    [Theory]
    [InlineData("HTTP/1.1 200 OK", "", null, "ok", "answers (200)")]
    [InlineData("HTTP/1.1 403 Forbidden", "Invalid Host header", null, "wrong", "webpack-dev-server")]
    [InlineData("HTTP/1.1 403 Forbidden", "no", null, "warning", "answers its own host with 200")]
    [InlineData("HTTP/1.1 403 Forbidden", "Invalid Host header", "rewrite", "ok", "answers (200)")]
    [InlineData("SSH-2.0-OpenSSH", "", null, "wrong", "does not answer as HTTP")]
    public async Task A_service_is_asked_by_its_own_host_and_by_the_public_one(
        string line, string body, string? policy, string state, string words)
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        Task serving = ServeAsync(listener, line, body, TestContext.Current.CancellationToken);
        Assert.Null(HostHeaderPolicy.TryParse(policy ?? "keep", out HostHeaderPolicy host));
        var target = new BackendTarget(false, "127.0.0.1", ((IPEndPoint)listener.LocalEndpoint).Port);

        Finding finding = await ServiceLook.RunAsync(target, host, "web.example.com", TestContext.Current.CancellationToken);

        Assert.Equal(state, finding.Word);
        Assert.Contains(words, finding.Message, StringComparison.Ordinal);
        listener.Stop();
        await serving.ContinueWith(static _ => { }, TaskScheduler.Default);
    }

    [Fact]
    public async Task A_certificate_that_is_not_trusted_comes_with_its_own_remedy_and_hides_nothing_else()
    {
        using var certificate = SelfMadeCertificate.Create();
        await using var server = RawTcpServer.Start(async connection =>
        {
            await using var tls = new SslStream(new NetworkStream(connection.Socket));
            await tls.AuthenticateAsServerAsync(certificate);
            Assert.NotEqual(0, await tls.ReadAsync(new byte[4096]));
            await tls.WriteAsync(Encoding.ASCII.GetBytes(
                "HTTP/1.1 404 Not Found\r\nTunnel2-Error: unknown-name\r\nDate: Mon, 23 Nov 2026 12:00:00 GMT\r\n"
                    + "Content-Length: 0\r\n\r\n"));
        });
        var findings = await PublicLook.RunAsync(
            new Uri($"https://web.localhost:{server.Port}/"), "web", null, new ManualTimeProvider(_now),
            TestContext.Current.CancellationToken);
        Assert.Equal(["warning public", "ok clock", "ok name"], findings.Select(static finding => $"{finding.Word} {finding.Name}"));
        Assert.Contains("not trusted here", findings[0].Message, StringComparison.Ordinal);
        Assert.Contains("Acme:Directory", findings[0].Remedy, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_service_that_wants_a_certificate_of_its_clients_is_said_to()
    {
        using var certificate = SelfMadeCertificate.Create();
        await using var service = RawTcpServer.Start(async connection =>
        {
            await using var tls = new SslStream(new NetworkStream(connection.Socket));
            var options = new SslServerAuthenticationOptions
            {
                ServerCertificate = certificate,
                ClientCertificateRequired = true,
                RemoteCertificateValidationCallback = static (_, shown, _, _) => shown is not null,
            };
            await Assert.ThrowsAnyAsync<System.Security.Authentication.AuthenticationException>(
                () => tls.AuthenticateAsServerAsync(options));
        });
        var target = new BackendTarget(true, "localhost", service.Port);

        Finding finding = await ServiceLook.RunAsync(target, default, "web.example.com", TestContext.Current.CancellationToken);

        Assert.Equal("wrong", finding.Word);
        Assert.Contains("asks its clients for a certificate, and the agent has none: ", finding.Message, StringComparison.Ordinal);
        Assert.Contains("tunnel2 tls", finding.Remedy, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_address_of_the_server_that_takes_no_connection_is_named()
    {
        await using var server = RawTcpServer.Start(static _ => Task.CompletedTask);
        var endpoint = new ServerEndpoint("server.example", server.Port);
        IPAddress dead = IPAddress.Parse("127.0.0.2");
        var findings = await PortLook.RunAsync(
            endpoint, [dead, IPAddress.Loopback], static _ => throw new NotSupportedException(), TestContext.Current.CancellationToken);
        Assert.Equal(["warning port", "ok mtu"], findings.Select(static finding => $"{finding.Word} {finding.Name}"));
        Assert.StartsWith(
            $"server.example:{server.Port} takes connections at 127.0.0.1, and not at 127.0.0.2 (", findings[0].Message,
            StringComparison.Ordinal);

        findings = await PortLook.RunAsync(
            endpoint, [IPAddress.Loopback], static _ => throw new NotSupportedException(), TestContext.Current.CancellationToken);
        Assert.Equal(["ok port", "ok mtu"], findings.Select(static finding => $"{finding.Word} {finding.Name}"));
    }

    [Fact]
    public async Task Where_no_address_answers_in_time_the_clearest_error_is_judged()
    {
        using var limit = new CancellationTokenSource();
        await limit.CancelAsync();
        Exception? judged = null;
        var findings = await PortLook.RunAsync(
            new ServerEndpoint("server.example", 1), [IPAddress.Loopback, IPAddress.Parse("127.0.0.2")],
            error =>
            {
                judged = error;
                return Finding.Wrong("port", "no", "none");
            },
            limit.Token);
        Assert.IsAssignableFrom<OperationCanceledException>(judged);
        Assert.Equal("wrong port", $"{Assert.Single(findings).Word} {findings[0].Name}");
    }

    [Fact]
    public async Task A_service_that_is_not_there()
    {
        using var refused = new RefusedPort();
        var target = new BackendTarget(false, "127.0.0.1", refused.Port);
        Finding finding = await ServiceLook.RunAsync(target, default, "web.example.com", TestContext.Current.CancellationToken);
        Assert.Equal(("wrong", $"nothing listens at http://127.0.0.1:{refused.Port}"), (finding.Word, finding.Message));
    }

    [Theory]
    [InlineData("unix:/no/such/app.sock", "nothing listens at unix:/no/such/app.sock", "start the service, or correct the path")]
    [InlineData("nosuch.invalid:80", "'nosuch.invalid' has no address (", "correct the service's host, or the resolver")]
    public async Task A_service_that_takes_no_connection_is_not_called_one_without_HTTP(string service, string message, string remedy)
    {
        Assert.Null(BackendTarget.TryParse(service, out BackendTarget? target));
        Finding finding = await ServiceLook.RunAsync(target!, default, "web.example.com", TestContext.Current.CancellationToken);
        Assert.Equal("wrong", finding.Word);
        Assert.StartsWith(message, finding.Message, StringComparison.Ordinal);
        Assert.Equal(remedy, finding.Remedy);
    }

    [Theory]
    [InlineData(RejectionReason.Unauthorized, "token")]
    [InlineData(RejectionReason.VersionUnsupported, "version")]
    [InlineData(RejectionReason.TlsRequired, "tls")]
    public async Task What_the_server_objects_to_is_wrong_and_named(RejectionReason reason, string name)
    {
        using var output = new StringWriter { NewLine = "\n" };
        AgentOptions? trial = null;
        int code = await AgentCli.RunAsync(
            ["doctor", "--server", "127.0.0.1:1", "--name", "web", "--json"], static _ => null,
            _ => new Runner((options, events) =>
            {
                trial = options;
                events.ConnectionEnded(ConnectionEnd.RejectedPermanently(new Rejection(reason, reason.ToString(), "")));
                return Task.FromResult(3);
            }),
            output, TextWriter.Null, TestContext.Current.CancellationToken);

        Assert.Equal(5, code);
        Assert.NotEqual("web", trial!.Name);
        using var json = System.Text.Json.JsonDocument.Parse(output.ToString());
        var wrong = json.RootElement.GetProperty("findings").EnumerateArray()
            .Where(static one => one.GetProperty("state").GetString() == "wrong").Select(static one => one.GetProperty("name").GetString());
        Assert.Contains(name, wrong);
    }

    /// <summary>The usual token: 'token create --name web' makes one that is for that name alone.</summary>
    [Theory]
    [InlineData(0, 0, "ok       clock    this machine's clock and the server's differ by 0 s")]
    [InlineData(4000, 5, "wrong    clock    this machine's clock and the server's differ by 345600000 s")]
    public async Task Where_a_token_for_certain_names_hides_the_public_URL_the_clock_is_looked_at(int days, int exitCode, string line)
    {
        using var output = new StringWriter { NewLine = "\n" };
        await using var uplinks = RawTcpServer.Start(static _ => Task.CompletedTask);
        await using var server = RawTcpServer.Start(static async connection =>
        {
            Assert.NotEqual(0, await connection.Socket.ReceiveAsync(new byte[4096]));
            await connection.Socket.SendAsync(Encoding.ASCII.GetBytes(
                "HTTP/1.1 404 Not Found\r\nTunnel2-Error: unknown-host\r\nDate: Mon, 23 Nov 2026 12:00:00 GMT\r\n"
                    + "Content-Length: 0\r\n\r\n"));
        });
        int code = await AgentCli.RunAsync(
            [
                "doctor", "--server", $"127.0.0.1:{uplinks.Port}", "--public-port", $"{server.Port}", "--name", "web", "--token", "right",
            ],
            static _ => null,
            _ => new Runner((_, events) =>
            {
                events.ConnectionEnded(ConnectionEnd.RejectedPermanently(
                    new Rejection(RejectionReason.NameNotAllowed, nameof(RejectionReason.NameNotAllowed), "")));
                return Task.FromResult(3);
            }),
            output, TextWriter.Null, TestContext.Current.CancellationToken,
            time: new ManualTimeProvider(_now.AddDays(days)));

        Assert.Contains("ok       token    the server accepts it\n", output.ToString(), StringComparison.Ordinal);
        Assert.Contains("skipped  public   not looked at, nor the name: ", output.ToString(), StringComparison.Ordinal);
        Assert.Contains(line + "\n", output.ToString(), StringComparison.Ordinal);
        Assert.Equal(exitCode, code);
    }

    [Fact]
    public async Task Where_the_server_cannot_be_called_the_clock_is_not_looked_at()
    {
        using var refused = new RefusedPort();
        Finding finding = await PublicLook.RunForClockAsync(
            new Uri($"http://127.0.0.1:{refused.Port}/"), TimeProvider.System, TestContext.Current.CancellationToken);
        Assert.Equal(("clock", "skipped"), (finding.Name, finding.Word));
        Assert.StartsWith(
            $"not looked at: http://127.0.0.1:{refused.Port} cannot be called from here: ", finding.Message, StringComparison.Ordinal);
    }

    /// <summary>So it is for each name after the server's start, and for the names of the settings at any time.</summary>
    [Theory]
    [InlineData("agent-offline", "ok", "no agent has 'web' now")]
    [InlineData("unknown-name", "ok", "no agent has 'web'")]
    [InlineData("backend-refused", "warning", "an agent has 'web'")]
    public async Task A_name_that_is_known_without_an_agent_is_not_called_another_agents(string error, string state, string message)
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            Assert.NotEqual(0, await connection.Socket.ReceiveAsync(new byte[4096]));
            await connection.Socket.SendAsync(Encoding.ASCII.GetBytes(
                $"HTTP/1.1 503 Service Unavailable\r\nTunnel2-Error: {error}\r\nContent-Length: 0\r\n\r\n"));
        });
        var findings = await PublicLook.RunAsync(
            new Uri($"http://web.localhost:{server.Port}/"), "web", null, TimeProvider.System, TestContext.Current.CancellationToken);
        Assert.Equal(("name", state, message), (findings[^1].Name, findings[^1].Word, findings[^1].Message));
    }

    private static async Task ServeAsync(TcpListener listener, string line, string body, CancellationToken stop)
    {
        while (true)
        {
            using TcpClient client = await listener.AcceptTcpClientAsync(stop);
            await using NetworkStream stream = client.GetStream();
            byte[] buffer = new byte[8192];
            int length = await stream.ReadAsync(buffer, stop);
            bool isOwn = !Encoding.ASCII.GetString(buffer, 0, length).Contains("Host: web.example.com", StringComparison.Ordinal);
            bool isHttp = line.StartsWith("HTTP/", StringComparison.Ordinal);
            string answer = isOwn && isHttp ? "HTTP/1.1 200 OK" : line;
            string content = isOwn && isHttp ? "" : body;
            await stream.WriteAsync(
                Encoding.ASCII.GetBytes($"{answer}\r\nContent-Length: {content.Length}\r\nConnection: close\r\n\r\n{content}"), stop);
        }
    }

    private sealed class Runner(Func<AgentOptions, IAgentEvents, Task<int>> run) : IAgentRunner
    {
        public Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop) => run(options, events);
    }
}
