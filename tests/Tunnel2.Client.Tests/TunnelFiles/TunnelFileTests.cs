using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.TunnelFiles;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Tests.TunnelFiles;

public sealed class TunnelFileTests
{
    private static CommandLineResult Parse(string file, string flags = "", params (string Name, string Value)[] environment) =>
        new AgentCommandLine().Parse(
            $"start {flags}".Split(' ', StringSplitOptions.RemoveEmptyEntries),
            name => environment.FirstOrDefault(variable => variable.Name == name).Value,
            path => path == "tunnels.yml" ? file : throw new FileNotFoundException($"Could not find file '{path}'."));

    private static IReadOnlyList<AgentOptions> Accepted(string file, string flags = "", params (string Name, string Value)[] environment)
    {
        CommandLineResult result = Parse(file, flags, environment);
        Assert.Null(result.Mistake);
        return result.Tunnels;
    }

    private static string[] Mistakes(string file, string flags = "", params (string Name, string Value)[] environment)
    {
        CommandLineResult result = Parse(file, flags, environment);
        Assert.Equal(CommandLineRequest.Mistake, result.Request);
        return result.Mistake!.Split('\n');
    }

    [Fact]
    public void A_file_that_is_nested_without_end_is_a_mistake()
    {
        string[] files =
        [
            new('[', 1_000_000),
            string.Concat(Enumerable.Repeat("{a: ", 200_000)),
            string.Concat(Enumerable.Range(0, 1_500).Select(static level => new string(' ', level) + "a:\n")),
        ];
        Assert.All(files, static file => Assert.Contains("more than 32 levels", Assert.Single(Mistakes(file)), StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("tunnels: &a [ *a ]")]
    [InlineData("tunnels: &a { upstream: 1, *a : 1 }")]
    [InlineData("tunnels:\n  - &b\n    upstream: 1\n    policy: *b")]
    public void A_file_with_a_part_within_itself_is_a_mistake(string file) =>
        Assert.Contains("is within itself", Assert.Single(Mistakes(file)), StringComparison.Ordinal);

    [Fact]
    public void Who_may_visit_is_a_value_or_a_list()
    {
        IReadOnlyList<AgentOptions> tunnels = Accepted(
            """
            tunnels:
              - name: web
                upstream: 3000
                basic-auth: [ "alice:a", "bob:b:c" ]
                allow-ip:
                  - 10.0.0.0/8
                  - 192.0.2.1, ::1
              - name: db
                protocol: tcp
                upstream: 5432
                deny-ip: 10.0.0.0/8
            """);
        Assert.Equal(["alice", "bob"], tunnels[0].Access!.Users.Select(static user => user.Name));
        Assert.True(tunnels[0].Access!.Users[1].Hash.Matches("b:c"u8));
        Assert.Equal((3, 1), (tunnels[0].Access!.Allowed.Count, tunnels[1].Access!.Denied.Count));
    }

    [Fact]
    public void A_policy_is_rows_or_the_name_of_a_file()
    {
        var rows = Accepted(
            """
            tunnels:
              - name: web
                upstream: 3000
                policy:
                  - path: /admin/**
                    deny: true
                  - path: /down
                    answer: { status: 503, body: "404", headers: { Retry-After: '60' } }
                  - rate-limit: { rate: 10/minute, burst: 5 }
            """)[0].Access!.Policy;
        Assert.Equal(
            """[{"path":"/admin/**","deny":true},"""
            + """{"path":"/down","answer":{"status":503,"body":"404","headers":{"Retry-After":"60"}}},"""
            + """{"rate-limit":{"rate":"10/minute","burst":5}}]""",
            System.Text.Encoding.UTF8.GetString(rows.Span));
    }

    [Fact]
    public void A_mistake_in_a_policy_has_the_line_of_its_row()
    {
        string[] mistakes = Mistakes(
            """
            tunnels:
              - name: web
                upstream: 3000
                policy:
                  - path: /admin/**
                    deny: true
                  - path: /a
                    denyy: true
                  - path: /b
                    rate-limit: { rate: 0/second }
              - name: other
                upstream: 3001
                policy: { rows: [ { path: a, deny: true } ] }
            """);
        Assert.Equal(4, mistakes.Length);
        Assert.StartsWith("tunnels.yml:7: policy: row 2: does nothing", mistakes[0], StringComparison.Ordinal);
        Assert.Equal("tunnels.yml:8: policy: row 2: 'denyy' is not a key, did you mean 'deny'?", mistakes[1]);
        Assert.StartsWith("tunnels.yml:10: policy: row 3: rate-limit: ", mistakes[2], StringComparison.Ordinal);
        Assert.StartsWith("tunnels.yml:13: policy: row 1: path: ", mistakes[3], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("tunnels:\n  - name: web\n\tupstream: 3000\n", 3)]
    [InlineData("tunnels:\n  - name: \"web\"\n\tupstream: 3000\n", 3)]
    [InlineData("tunnels:\n  - name: [web]\n    upstream: 1\n  \tpolicy: a\n", 4)]
    [InlineData("tunnels:\n  - name: web\n    upstream: 3000\n    policy:\n\t- deny: true\n", 5)]
    [InlineData("tunnels:\n\t- name: web\n\t  upstream: 3000\n", 2)]
    [InlineData("tunnels:\r\n  - name: web\r\n    policy:\r\n      - path: /a\r\n      -\tpath: /b\r\n\t\tdeny: true\r\n", 6)]
    public void A_tab_is_reported_where_it_is(string file, int line) =>
        Assert.Equal($"tunnels.yml:{line}: is not YAML: a tab is where the line is indented; use spaces", Assert.Single(Mistakes(file)));

    [Theory]
    [InlineData("policy: [ { deny: true }, { deny: true } ]")]
    [InlineData("policy: [ { path: a, deny: true }, { timeout: 0s } ]")]
    [InlineData("policy: { row: [] }")]
    [InlineData("policy: [ { [a]: b } ]")]
    [InlineData("policy: /no/such/policy.json")]
    [InlineData("policy: &a [ *a ]")]
    [InlineData("basic-auth: []")]
    [InlineData("basic-auth: [ 'a:b', '' ]")]
    [InlineData("basic-auth: [ [ 'a:b' ] ]")]
    [InlineData("basic-auth: { alice: topsecret }")]
    [InlineData("basic-auth: topsecret")]
    [InlineData("basic-auth: [ 'alice:topsecret', 'alice:other' ]")]
    [InlineData("allow-ip: everybody")]
    [InlineData("host-header: [ keep ]")]
    public void A_list_with_a_mistake_is_refused_and_shows_no_password(string line)
    {
        string mistake = Assert.Single(Mistakes($"tunnels:\n  - name: web\n    upstream: 3000\n    {line}\n"));
        Assert.StartsWith("tunnels.yml:4: ", mistake, StringComparison.Ordinal);
        Assert.DoesNotContain("topsecret", mistake, StringComparison.Ordinal);
    }

    [Fact]
    public void Every_tunnel_has_its_own_values_and_those_of_the_top()
    {
        IReadOnlyList<AgentOptions> tunnels = Accepted(
            """
            # the team's server
            server: tunnel.example.com:7000
            token: t0k
            uplinks: 2
            loops: 3
            verbose: true
            json: false
            tunnels:
              - name: web
                upstream: 3000
                host-header: rewrite
              - name: api
                upstream: http://127.0.0.1:8080/base
                token: other
                uplinks: auto
            """);

        Assert.Equal(["web", "api"], tunnels.Select(static options => options.Name));
        Assert.Equal(
            ["http://127.0.0.1:3000", "http://127.0.0.1:8080/base"], tunnels.Select(static options => options.Upstream.ToString()));
        Assert.Equal(["rewrite", "keep"], tunnels.Select(static options => options.HostHeader.ToString()));
        Assert.Equal(["t0k", "other"], tunnels.Select(static options => options.Token));
        Assert.Equal(["2", "auto"], tunnels.Select(static options => options.Uplinks.ToString()));
        Assert.All(tunnels, static options => Assert.Equal("tunnel.example.com:7000", options.Server.ToString()));
        Assert.All(tunnels, static options => Assert.True(options is { Loops: 3, Verbose: true, Json: false }));
        Assert.NotEqual(tunnels[0].InstanceKey.ToArray(), tunnels[1].InstanceKey.ToArray());
    }

    [Fact]
    public void What_is_below_a_tunnel_is_for_it_alone_and_what_is_elsewhere_for_those_that_can_use_it()
    {
        const string Tunnels =
            """
            tunnels:
              - name: web
                upstream: 3000
              - name: db
                protocol: tcp
                upstream: 5432
            """;
        AgentOptionsInput asked = new AgentOptionsInput()
            .Give("--host-header", "rewrite").Give("--backend-protocol", "h1").Give("--inspect-mask", "key").Give("--nodes", "3");

        // 'tunnel2 start --host-header rewrite' is for all tunnels, as the top of the file is.
        TunnelFileLoad load = TunnelFileLoader.Load("tunnels.yml", Tunnels, asked, static _ => null);
        Assert.Empty(load.Mistakes);
        Assert.Equal(2, Accepted("host-header: rewrite\nnodes: 3\n" + Tunnels).Count);

        TunnelFileLoad own = TunnelFileLoader.Load(
            "tunnels.yml", Tunnels + "\n    host-header: rewrite", new AgentOptionsInput(), static _ => null);
        Assert.Equal(
            "tunnels.yml:7: host-header: belongs to 'http': no other tunnel knows requests", Assert.Single(own.Mistakes).Message);
    }

    [Fact]
    public void Tunnels_of_a_file_may_carry_different_things()
    {
        IReadOnlyList<AgentOptions> tunnels = Accepted(
            """
            tunnels:
              - name: web
                upstream: 3000
              - name: db
                protocol: tcp
                upstream: 5432
                remote-port: 20005
                proxy-protocol: v2
              - name: vault
                protocol: TLS
                upstream: unix:/run/vault.sock
            """);
        Assert.Equal(
            [
                (SessionKind.Http, "http://127.0.0.1:3000", 0, 0),
                (SessionKind.Tcp, "tcp://127.0.0.1:5432", 20005, 2),
                (SessionKind.Tls, "unix:/run/vault.sock", 0, 0),
            ],
            tunnels.Select(static one => (one.Kind, one.Upstream.ToString(), one.RemotePort, one.ProxyProtocol)));
        Assert.Equal(
            ["tunnels.yml:3: protocol: 'ftp' is not http, tcp, tls or udp"], Mistakes("tunnels:\n- upstream: 3000\n  protocol: ftp\n"));
    }

    [Fact]
    public void A_tunnel_without_a_name_gets_a_random_one() =>
        Assert.Matches("^[a-z0-9]{10}$", Accepted("tunnels:\n- upstream: 3000").Single().Name);

    [Fact]
    public void The_command_line_goes_before_the_file_and_the_file_before_the_environment()
    {
        const string File = "server: file:1\ntoken: file\ntunnels:\n- upstream: 3000\n";
        (string, string)[] environment =
        [
            ("TUNNEL2_SERVER", "environment:1"), ("TUNNEL2_TOKEN", "environment"), ("TUNNEL2_HOST_HEADER", "rewrite"),
        ];

        AgentOptions options = Accepted(File, "--server flag:1 --json", environment).Single();

        Assert.Equal("flag:1", options.Server.ToString());
        Assert.Equal("file", options.Token);
        Assert.Equal("rewrite", options.HostHeader.ToString());
        Assert.True(options.Json);
    }

    [Theory]
    [InlineData("server-fingerprint", "TUNNEL2_SERVER_FINGERPRINT")]
    [InlineData("server-fingerprint", "TUNNEL2_SERVER_CA")]
    [InlineData("server-ca", "TUNNEL2_SERVER_FINGERPRINT")]
    [InlineData("server-ca", "TUNNEL2_SERVER_CA")]
    [InlineData("client-cert", "TUNNEL2_CLIENT_CERT")]
    public void Whom_the_file_trusts_goes_before_the_environment(string key, string variable)
    {
        var mistake = Assert.Single(Mistakes($"{key}: nothing\ntunnels:\n- upstream: 3000\n", "", (variable, "elsewhere")));
        Assert.StartsWith($"tunnels.yml:1: {key}: 'nothing'", mistake, StringComparison.Ordinal);
        Assert.Equal(mistake, Assert.Single(Mistakes($"{key}: nothing\ntunnels:\n- upstream: 3000\n", "", (variable, ""))));
    }

    [Fact]
    public void Whom_the_environment_trusts_holds_where_the_file_does_not_say()
    {
        const string Pin = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        AgentOptions options = Accepted("tunnels:\n- upstream: 3000\n", "", ("TUNNEL2_SERVER_FINGERPRINT", Pin)).Single();
        Assert.Equal([Pin], options.Tls!.ServerFingerprints);
    }

    [Fact]
    public void Names_and_upstreams_of_the_environment_do_not_hold_for_a_file()
    {
        IReadOnlyList<AgentOptions> tunnels = Accepted(
            "tunnels:\n- upstream: 3000\n- upstream: 3001\n", "", ("TUNNEL2_NAME", "web"), ("TUNNEL2_UPSTREAM", "9"));

        Assert.DoesNotContain(tunnels, static options => options.Name == "web");
    }

    [Fact]
    public void Tunnels_that_share_a_port_are_named_by_it_and_are_no_two_of_one_file()
    {
        const string file = "tunnels:\n  - upstream: 22\n    protocol: tcp\n    pool: true\n    remote-port: 20005\n";
        Assert.Equal("tcp-20005", Assert.Single(Accepted(file)).Name);
        Assert.Equal(
            "tunnels.yml:9: remote-port: 20005 is the port of the tunnel of line 2 already",
            Assert.Single(Mistakes(file + file[(file.IndexOf('\n') + 1)..])));
    }

    [Fact]
    public void A_port_is_one_tunnels_of_a_file()
    {
        Assert.Equal(
            [
                "tunnels.yml:9: remote-port: 20005 is the port of the tunnel of line 2 already",
                "tunnels.yml:13: name: 'db' is the name of the tunnel of line 6 already",
                "tunnels.yml:16: remote-port: 20005 is the port of the tunnel of line 2 already",
            ],
            Mistakes(
                """
                tunnels:
                  - name: ssh
                    upstream: 22
                    protocol: tcp
                    remote-port: 20005
                  - name: db
                    upstream: 5432
                    protocol: tcp
                    remote-port: 20005
                  - upstream: 53
                    protocol: udp
                    remote-port: 20005
                  - name: db
                    upstream: 23
                    protocol: tcp
                    remote-port: 20005
                """));
    }

    [Fact]
    public void A_port_of_another_server_or_protocol_is_another_port() => Assert.Equal(
        3,
        Accepted(
            """
            tunnels:
              - { upstream: 22, protocol: tcp, remote-port: 20005 }
              - { upstream: 53, protocol: udp, remote-port: 20005 }
              - { upstream: 22, protocol: tcp, remote-port: 20005, server: "[::1]:12001" }
            """).Count);

    [Fact]
    public void Every_mistake_is_reported_with_its_line()
    {
        Assert.Equal(
            [
                "TUNNEL2_VERBOSE: is neither true nor false",
                "tunnels.yml:1: server: 'tunnel.example.com:x' lacks",
                "tunnels.yml:2: 'tokn' is not a key here, did you mean 'token'?",
                "tunnels.yml:3: json: is neither true nor false",
                "tunnels.yml:5: name: 'w_' is not a name",
                "tunnels.yml:6: upstream: '70000' is not a port (1 to 65535)",
                "tunnels.yml:7: 'host_header' is not a key here, did you mean 'host-header'?",
                "tunnels.yml:8: the tunnel lacks its upstream: a port, host:port or URL",
                "tunnels.yml:9: json: belongs to the top of the file, for all tunnels",
                "tunnels.yml:12: uplinks: lacks its value",
                "tunnels.yml:13: name: 'api' is the name of the tunnel of line 8 already",
            ],
            Mistakes(
                """
                server: tunnel.example.com:x
                tokn: s3cret
                json: perhaps
                tunnels:
                  - name: w_
                    upstream: 70000
                    host_header: rewrite
                  - name: api
                    json: true

                  - upstream: 3000
                    uplinks:
                    name: api
                """,
                "",
                ("TUNNEL2_VERBOSE", "loud")).Select(
                    static mistake =>
                        mistake.Replace(
                            "'x' is not a port (1 to 65535)",
                            "'tunnel.example.com:x' lacks",
                            StringComparison.Ordinal).Split(": 1 to 50")[0]));
    }

    [Fact]
    public void No_secret_is_repeated() =>
        Assert.DoesNotContain(
            "s3cret",
            string.Join('\n', Mistakes("token: s3cret with spaces\ntokn: s3cret\ntunnels:\n- upstream: 3000\n")),
            StringComparison.Ordinal);

    [Theory]
    [InlineData("", "tunnels.yml:1: there is no 'tunnels:'")]
    [InlineData("just words", "tunnels.yml:1: there is no 'tunnels:'")]
    [InlineData("server: a:1", "tunnels.yml:1: there is no 'tunnels:'")]
    [InlineData("tunnels:", "tunnels.yml:1: tunnels: has no list below it")]
    [InlineData("tunnels: []", "tunnels.yml:1: tunnels: has no list below it")]
    [InlineData("tunnels:\n  web:\n    upstream: 3000", "tunnels.yml:2: tunnels: has no list below it")]
    [InlineData("tunnels:\n- 3000", "tunnels.yml:2: a tunnel is written as")]
    [InlineData("tunnels:\n- upstream: [1, 2]", "tunnels.yml:2: upstream: takes one value")]
    [InlineData("tunnels:\n- upstream: 1\n  allow-ip: []", "tunnels.yml:3: allow-ip: lacks its value")]
    [InlineData(
        "tunnels:\n- upstream: 1\n- routes:\n  - path: /a\n    upstream: 2",
        "tunnels.yml:3: the tunnel lacks its upstream: a port, host:port or URL, or a route for /")]
    [InlineData("name: web\ntunnels:\n- upstream: 1", "tunnels.yml:1: name: belongs below a tunnel")]
    [InlineData("server: a:1\nserver: b:1\ntunnels:\n- upstream: 1", "tunnels.yml:2: is not YAML: ")]
    [InlineData("tunnels:\n\t- upstream: 3000", "tunnels.yml:2: is not YAML: a tab is where")]
    [InlineData("tunnels: \"open", "tunnels.yml:1: is not YAML: ")]
    [InlineData("tunnels:\n- upstream: *nowhere", "tunnels.yml:1: is not YAML: The anchor 'nowhere'")]
    [InlineData("tunnels:\n- {name: web, upstream: 1\n- {name: b}\n", "tunnels.yml:2: is not YAML: it cannot be read beyond this line")]
    [InlineData("tunnels:\n- allow-ip: [1.2.3.4, 5.6.7.8\n  name: b\n", "tunnels.yml:2: is not YAML: it cannot be read beyond this line")]
    [InlineData("tunnels:\n- upstream: 1\n---\ntunnels: []", "tunnels.yml:4: a second document")]
    public void A_file_of_another_form_is_reported_with_its_place(string file, string mistake) =>
        Assert.StartsWith(mistake, Mistakes(file)[0], StringComparison.Ordinal);

    [Fact]
    public void A_file_that_is_not_there_is_reported_by_its_name()
    {
        Assert.StartsWith("other.yml: cannot be read: ", Mistakes("", "--config other.yml")[0], StringComparison.Ordinal);
        Assert.StartsWith("third.yml: cannot be read: ", Mistakes("", "", ("TUNNEL2_CONFIG", "third.yml"))[0], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("client-ca", "/dev/zero cannot be read: It has more than 4194304 characters.")]
    [InlineData("policy", "/dev/zero is longer than 262144 bytes")]
    [InlineData("webhook-secret-file", "/dev/zero is longer than 262144 bytes")]
    [InlineData("server-ca", "'/dev/zero' cannot be used: It has more than 4194304 characters")]
    [InlineData("client-cert", "'/dev/zero' cannot be used: It has more than 4194304 characters")]
    public void A_file_without_an_end_is_not_read_to_its_end(string key, string mistake)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Has the device.");
        string place = key is "server-ca" or "client-cert" ? "" : "  ";
        Assert.Contains(
            $"tunnels.yml:{(place.Length == 0 ? 1 : 4)}: {key}: {mistake}",
            Mistakes(place.Length == 0
                ? $"{key}: /dev/zero\ntunnels:\n- upstream: 1\n"
                : $"tunnels:\n- upstream: 1\n  verify-webhook: github\n  {key}: /dev/zero\n"));
    }

    [Theory]
    [InlineData("--name web", "--name: cannot go with 'start'")]
    [InlineData("--url web.example.com", "--url: cannot go with 'start'")]
    [InlineData("--backend-port 1", "--backend-port: belongs to the older form and cannot go with 'start'")]
    [InlineData("web", "'start' takes its tunnels from the file")]
    public void What_belongs_into_the_file_cannot_be_a_flag(string flags, string mistake) =>
        Assert.StartsWith(mistake, Mistakes("tunnels:\n- upstream: 1\n", flags)[0], StringComparison.Ordinal);
}
