using System.Text;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Tests.Cli;

public sealed class AgentCommandLineTests
{
    private const string Guid = "6f9619ff-8b86-d011-b42d-00c04fc964ff";

    private static CommandLineResult Parse(string line, Func<string, string?>? environment = null) =>
        new AgentCommandLine().Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries), environment ?? (static _ => null));

    private static AgentOptions Accepted(string line, Func<string, string?>? environment = null)
    {
        CommandLineResult result = Parse(line, environment);
        Assert.Null(result.Mistake);
        return Assert.IsType<AgentOptions>(result.Options);
    }

    [Theory]
    [InlineData("http 3000", "http://127.0.0.1:3000")]
    [InlineData("http :3000", "http://127.0.0.1:3000")]
    [InlineData("http host:3000", "http://host:3000")]
    [InlineData("http [::1]:3000", "http://[::1]:3000")]
    [InlineData("http http://host:3000/base", "http://host:3000/base")]
    [InlineData("https 8443", "https://localhost:8443")]
    [InlineData("https :8443", "https://localhost:8443")]
    [InlineData("https box:8443", "https://box:8443")]
    [InlineData("https https://box/base", "https://box/base")]
    [InlineData("http -- 3000", "http://127.0.0.1:3000")]
    [InlineData("http --name:web 3000", "http://127.0.0.1:3000")]
    [InlineData("http https://host", "https://host")]
    [InlineData("--json http 3000", "http://127.0.0.1:3000")]
    [InlineData("http --json 3000", "http://127.0.0.1:3000")]
    [InlineData("http --name web 3000", "http://127.0.0.1:3000")]
    [InlineData("--name web http 3000", "http://127.0.0.1:3000")]
    public void The_upstream_may_stand_anywhere_after_http(string line, string upstream) =>
        Assert.Equal(upstream, Accepted(line).Upstream.ToString());

    [Theory]
    [InlineData("tcp 22", SessionKind.Tcp, "tcp://127.0.0.1:22", 0, 0)]
    [InlineData("tcp 22 --remote-port 20022", SessionKind.Tcp, "tcp://127.0.0.1:22", 20022, 0)]
    [InlineData("--remote-port=1 tcp host:22 --proxy-protocol V2", SessionKind.Tcp, "tcp://host:22", 1, 2)]
    [InlineData("tls 443 --name web --proxy-protocol v1", SessionKind.Tls, "tcp://127.0.0.1:443", 0, 1)]
    [InlineData("http 3000", SessionKind.Http, "http://127.0.0.1:3000", 0, 0)]
    [InlineData("udp 53 --remote-port 20053", SessionKind.Udp, "udp://127.0.0.1:53", 20053, 0)]
    public void A_command_says_what_the_tunnel_carries(string line, SessionKind kind, string upstream, int port, int header)
    {
        AgentOptions options = Accepted(line);
        Assert.Equal((kind, upstream), (options.Kind, options.Upstream.ToString()));
        Assert.Equal((port, header), (options.RemotePort, options.ProxyProtocol));
    }

    [Theory]
    [InlineData("tcp", "'tunnel2 tcp 22'")]
    [InlineData("tls", "'tunnel2 tls 443'")]
    [InlineData("tcp http://host:80", "give a port or host:port")]
    [InlineData("tcp 22 23", "only one port")]
    [InlineData("udp", "'tunnel2 udp 53'")]
    [InlineData("udp unix:/run/a.sock", "which datagrams need")]
    [InlineData("udp 53 --proxy-protocol v2", "--proxy-protocol: belongs to 'tcp' and 'tls'")]
    [InlineData("tcp 22 --remote-port 0", "--remote-port: '0' is not a port")]
    [InlineData("tcp 22 --remote-port 65536", "--remote-port: '65536' is not a port")]
    [InlineData("tls 443 --remote-port 1", "--remote-port: belongs to a tunnel of TCP or UDP")]
    [InlineData("http 3000 --remote-port 1", "--remote-port: belongs to a tunnel of TCP or UDP")]
    [InlineData("http 3000 --proxy-protocol v1", "--proxy-protocol: belongs to 'tcp' and 'tls'")]
    [InlineData("tcp 22 --proxy-protocol v3", "'v3' is not off, v1 or v2")]
    [InlineData("start --remote-port 1", "--remote-port: cannot go with 'start'")]
    [InlineData("start --basic-auth a:b", "--basic-auth: cannot go with 'start'")]
    [InlineData("start --allow 10.0.0.0/8", "--allow-ip: cannot go with 'start'")]
    [InlineData("tcp 22 --basic-auth a:b", "--basic-auth: belongs to 'http'")]
    [InlineData("http 3000 --basic-auth", "--basic-auth: lacks its value")]
    [InlineData("http 3000 --basic-auth a:b --basic-auth", "--basic-auth: lacks its value")]
    [InlineData("http 3000 --verify-webhook github", "--verify-webhook: needs the secrets: --webhook-secret-file FILE")]
    [InlineData("http 3000 --verify-webhook gitub:12345678", "'gitub' is not one of github, gitlab")]
    [InlineData("http 3000 --verify-webhook github:1234567", "has no secret of 8 to 255 bytes after 'github:'")]
    [InlineData("http 3000 --verify-webhook github:", "has no secret of 8 to 255 bytes after 'github:'")]
    [InlineData(
        "http 3000 --verify-webhook github:12345678 --webhook-secret-file /no/such",
        "--webhook-secret-file: contradicts the secret that --verify-webhook has")]
    [InlineData("http 3000 --verify-webhook gitub --webhook-secret-file /no/such", "'gitub' is not one of github, gitlab")]
    [InlineData("http 3000 --webhook-secret-file /no/such", "--webhook-secret-file: /no/such cannot be read")]
    [InlineData("tcp 22 --verify-webhook github", "--verify-webhook: belongs to 'http'")]
    [InlineData("http 3000 --policy /no/such/policy.json", "--policy: /no/such/policy.json cannot be read")]
    [InlineData("http 3000 --policy /", "--policy: / cannot be read: it is a folder, not a file")]
    [InlineData("http 3000 --verify-webhook github --webhook-secret-file /", "-secret-file: / cannot be read: it is a folder")]
    [InlineData("http 3000 --client-ca /", "--client-ca: / cannot be read: it is a folder, not a file")]
    [InlineData("http 3000 --token-file /", "--token-file: cannot be read: it is a folder, not a file")]
    [InlineData("http 3000 --server-ca /", "--server-ca: '/' cannot be used: it is a folder, not a file")]
    [InlineData("http 3000 --policy [{}]", "--policy: row 1: does nothing")]
    [InlineData("tcp 22 --policy [{\"deny\":true}]", "--policy: belongs to 'http'")]
    [InlineData("start --policy policy.json", "--policy: cannot go with 'start'")]
    [InlineData("http 3000 --allow-ip 10.0.0.1/8", "did you mean 10.0.0.0/8?")]
    [InlineData("http 3000 --oidc Staff", "--oidc: 'Staff' is not the name of a gate")]
    [InlineData("tcp 22 --oidc staff", "--oidc: belongs to 'http'")]
    [InlineData("http 3000 --basic-auth a:b --oidc staff", "--oidc: contradicts --basic-auth")]
    [InlineData("http 3000 --jwt-issuer https://id.example", "--jwt-issuer: needs --jwt-audience too")]
    [InlineData("http 3000 --jwt-audience web", "--jwt-audience: needs --jwt-issuer too")]
    [InlineData("http 3000 --jwt-issuer http://id.example --jwt-audience web", "--jwt-issuer: 'http://id.example' is not the https URL")]
    [InlineData("http 3000 --jwt-issuer https://id.example --jwt-audience a,b", "--jwt-audience: 'a,b' is not 1 to 255 characters")]
    [InlineData("tcp 22 --jwt-issuer https://id.example --jwt-audience web", "--jwt-issuer: belongs to 'http'")]
    [InlineData(
        "http 3000 --basic-auth a:b --jwt-issuer https://id.example --jwt-audience web", "--jwt-issuer: contradicts --basic-auth")]
    [InlineData("http 3000 --allow-ip 10.0.0.0/8 --deny-ip 10.0.0.0/8", "--deny-ip: has 10.0.0.0/8, which --allow-ip has too")]
    public void What_does_not_go_with_a_command_is_a_mistake(string line, string words) =>
        Assert.Contains(words, Parse(line).Mistake, StringComparison.Ordinal);

    [Theory]
    [InlineData("github:12345678", "12345678")]
    [InlineData("standard:whsec_MfKQ9r8GKYqrTwjU", "whsec_MfKQ9r8GKYqrTwjU")]
    [InlineData("gitlab:with:a:colon", "with:a:colon")]
    public void The_secret_of_a_webhook_may_follow_its_provider(string value, string secret)
    {
        WebhookRule? rule = Accepted("http 3000 --verify-webhook " + value).Access!.Webhook;
        Assert.Equal(secret, Encoding.UTF8.GetString(Assert.Single(rule!.Secrets).Span));
    }

    [Fact]
    public void A_mistake_in_a_webhooks_secret_does_not_show_it() =>
        Assert.DoesNotContain("hush", Parse("http 3000 --verify-webhook gitub:hush-hush").Mistake, StringComparison.Ordinal);

    [Theory]
    [InlineData("--server h:1", "h:1")]
    [InlineData("--server=h:1", "h:1")]
    [InlineData("--server [::1]:1", "[::1]:1")]
    [InlineData("", "127.0.0.1:12001")]
    public void Flag_server(string flags, string server) => Assert.Equal(server, Accepted($"http 3000 {flags}").Server.ToString());

    [Theory]
    [InlineData("--name web")]
    [InlineData("--subdomain web")]
    [InlineData("--subdomain=web")]
    [InlineData("--url https://web.example.com")]
    [InlineData("--url web.example.com")]
    public void Flag_name_and_its_aliases(string flags) => Assert.Equal("web", Accepted($"http 3000 {flags}").Name);

    [Theory]
    [InlineData("--token t0k:e=n", "t0k:e=n")]
    [InlineData("--token=t0k:e=n", "t0k:e=n")]
    [InlineData("--authtoken t0k", "t0k")]
    [InlineData("--token -dash", "-dash")]
    [InlineData("--token @at", "@at")]
    public void Flag_token_and_its_alias(string flags, string token) => Assert.Equal(token, Accepted($"http 3000 {flags}").Token);

    [Theory]
    [InlineData("--uplinks auto", 0)]
    [InlineData("--uplinks 4", 4)]
    public void Flag_uplinks(string flags, int count) => Assert.Equal(count, Accepted($"http 3000 {flags}").Uplinks.Count);

    [Theory]
    [InlineData("--host-header KEEP", HostHeaderMode.Keep, null)]
    [InlineData("--host-header rewrite", HostHeaderMode.Rewrite, null)]
    [InlineData("--host-header app.local:8080", HostHeaderMode.Fixed, "app.local:8080")]
    public void Flag_host_header(string flags, HostHeaderMode mode, string? value)
    {
        HostHeaderPolicy policy = Accepted($"http 3000 {flags}").HostHeader;
        Assert.Equal((mode, value), (policy.Mode, policy.Value));
    }

    [Fact]
    public void Switches_are_off_unless_given()
    {
        AgentOptions off = Accepted("http 3000");
        Assert.Equal((false, false, false), (off.ExitOnFailure, off.Verbose, off.Json));
        Assert.True(Accepted("http 3000 --exit-on-failure").ExitOnFailure);
        Assert.True(Accepted("http 3000 --verbose").Verbose);
        Assert.True(Accepted("http 3000 --json").Json);
    }

    [Fact]
    public void The_environment_gives_the_server_and_the_token()
    {
        AgentOptions options = Accepted("http 3000", static name => name switch
        {
            "TUNNEL2_SERVER" => "env:7",
            "TUNNEL2_TOKEN" => "env-token",
            _ => null,
        });

        Assert.Equal(("env:7", "env-token"), (options.Server.ToString(), options.Token));
    }

    [Fact]
    public void The_older_form_works_with_the_flags_that_have_no_older_name()
    {
        AgentOptions options = Accepted(
            $"--dev-session-id {Guid} --backend-host 10.0.0.1 --backend-port 3000 --tunnel-host h --tunnel-port 7 --token t --verbose");

        Assert.Equal(Guid, options.Name);
        Assert.Equal("http://10.0.0.1:3000", options.Upstream.ToString());
        Assert.Equal("h:7", options.Server.ToString());
        Assert.Equal("t", options.Token);
        Assert.True(options.Verbose);
    }

    [Theory]
    [InlineData("", "say what to forward")]
    [InlineData("--json", "say what to forward")]
    [InlineData("http", "<upstream>: say what to forward")]
    [InlineData("http 3000 4000", "<upstream>: only one")]
    [InlineData("http 70000", "<upstream>: '70000' is not a port")]
    [InlineData("http localhost", "<upstream>: 'localhost' lacks a port")]
    [InlineData("http file:///srv", "<upstream>: 'file://' is not http://, https:// or h2c://; 'tunnel2 file DIR' serves a folder")]
    [InlineData("http ftp://h", "<upstream>: 'ftp://' is not http://, https:// or h2c://")]
    [InlineData("httpd 3000", "'httpd' is not a command, did you mean 'http'?")]
    [InlineData("https http://box:3000", "<upstream>: 'https' takes a port, host:port or https:// URL; 'http' takes the others")]
    [InlineData("https", "<upstream>: say what to forward")]
    [InlineData("file", "FOLDER: say which folder")]
    [InlineData("file /nowhere/at/all", "FOLDER: '/nowhere/at/all' is not a folder")]
    [InlineData("file / /tmp", "FOLDER: only one folder can be given")]
    [InlineData("file / --host-header rewrite", "--host-header: cannot go with 'file'")]
    [InlineData("http 3000 --list", "--list: unknown flag")]
    [InlineData("--json tap", "'tap' has to be the first word")]
    [InlineData("3000", "'3000' is not a command, did you mean 'http 3000'?")]
    [InlineData("box:3000", "'box:3000' is not a command, did you mean 'http box:3000'?")]
    [InlineData("99999", "'99999' is not a command; the commands are")]
    [InlineData(":", "':' is not a command; the commands are")]
    [InlineData("qqqq", "'qqqq' is not a command; the commands are http, https, tcp, tls, udp, file, start, config")]
    [InlineData("http 3000 --server a:b:c", "--server: ")]
    [InlineData("http 3000 --server", "--server: lacks its value")]
    [InlineData("http 3000 --name x_", "--name: 'x_' is not a name")]
    [InlineData("http 3000 --name --json", "--name: lacks its value")]
    [InlineData("http 3000 --subdomain", "--name: lacks its value")]
    [InlineData("http 3000 --name web --name web", "--name: 'web' is given twice")]
    [InlineData("http 3000 --url ftp://x", "--url: ")]
    [InlineData("http 3000 --name web --url api.example.com", "--url: asks for another name")]
    [InlineData("http 3000 --token", "--token: lacks its value")]
    [InlineData("http 3000 --token a --authtoken b", "--token: is given more than once")]
    [InlineData("http 3000 --uplinks 0", "--uplinks: '0' is not auto or a number from 1 to 16")]
    [InlineData("http 3000 --uplinks 17", "--uplinks: ")]
    [InlineData("http 3000 --streams 0", "--streams: '0' is not a number from 1 to 65536")]
    [InlineData("http 3000 --streams 65537", "--streams: ")]
    [InlineData("http 3000 --buffer-megabytes 15", "--buffer-megabytes: '15' is not auto or a number from 16 to 65536")]
    [InlineData("http 3000 --buffer-megabytes 65537", "--buffer-megabytes: ")]
    [InlineData("http 3000 --buffer-megabytes 1e3", "--buffer-megabytes: ")]
    [InlineData("http 3000 --loops 0", "--loops: '0' is not auto or a number from 1 to 32")]
    [InlineData("http 3000 --loops 33", "--loops: '33' is not auto or a number from 1 to 32")]
    [InlineData("http 3000 --loops many", "--loops: 'many' is not auto or a number from 1 to 32")]
    [InlineData("http 3000 --backend-connections 0", "--backend-connections: '0' is not auto or a number from 1 to 1000000")]
    [InlineData("http 3000 --backend-connections many", "--backend-connections: ")]
    [InlineData("http 3000 --host-header a/b", "--host-header: ")]
    [InlineData("http 3000 --nmae web", "--nmae: unknown flag")]
    [InlineData("http 3000 -V", "-V: unknown flag")]
    [InlineData("http 3000 --dev-session-id x", "--dev-session-id: belongs to the older form")]
    [InlineData("--dev-session-id x --backend-port 1", "--dev-session-id: 'x' is not a GUID")]
    [InlineData("--dev-session-id " + Guid, "--backend-port: is missing")]
    [InlineData("--backend-port 3000", "--dev-session-id: is missing")]
    [InlineData("--dev-session-id " + Guid + " --backend-port 0", "--backend-port: '0' is not a port")]
    [InlineData("--dev-session-id " + Guid + " --backend-port 1 --tunnel-port x", "--tunnel-port: 'x' is not a port")]
    [InlineData("--dev-session-id " + Guid + " --backend-port 1 --tunnel-host h --server h", "--server: cannot go with --tunnel-host")]
    [InlineData("--dev-session-id " + Guid + " --backend-port 1 --name web", "--name: cannot go with --dev-session-id")]
    public void A_mistake_is_one_line_that_names_the_flag(string line, string start)
    {
        CommandLineResult result = Parse(line);

        Assert.Equal(CommandLineRequest.Mistake, result.Request);
        Assert.NotNull(result.Mistake);
        Assert.StartsWith(start, result.Mistake, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', result.Mistake);
    }

    [Fact]
    public void Several_mistakes_are_reported_together()
    {
        string? mistake = Parse("http 70000 --uplinks 99 --name x_").Mistake;

        Assert.NotNull(mistake);
        Assert.Contains("<upstream>: ", mistake, StringComparison.Ordinal);
        Assert.Contains("; --name: ", mistake, StringComparison.Ordinal);
        Assert.Contains("; --uplinks: ", mistake, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http 3000 --tokne s3cret")]
    [InlineData("http 3000 --tokne=s3cret")]
    [InlineData("http 3000 --tokne:s3cret")]
    [InlineData("http 3000 --token s3cret --token s3cret")]
    [InlineData("http 3000 --token s3cret\u00e9")]
    [InlineData("http 3000 --token s3cret s3cret")]
    public void A_mistake_around_a_token_does_not_show_it(string line)
    {
        CommandLineResult result = Parse(line);

        Assert.Equal(CommandLineRequest.Mistake, result.Request);
        Assert.DoesNotContain("s3cret", result.Mistake, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("--help")]
    [InlineData("-h")]
    [InlineData("-?")]
    [InlineData("http --help")]
    [InlineData("http 3000 --nonsense --help")]
    public void Help_wins_over_everything(string line) => Assert.Equal(CommandLineRequest.Help, Parse(line).Request);

    [Theory]
    [InlineData("--version")]
    [InlineData("http 3000 --version")]
    [InlineData("-v")]
    [InlineData("start -v")]
    public void Version_is_asked_for(string line) => Assert.Equal(CommandLineRequest.Version, Parse(line).Request);

    [Fact]
    public void The_help_text_names_every_flag_alias_variable_and_exit_code()
    {
        foreach (CommandOption option in CommandTable.RootOptions)
        {
            Assert.Contains(
                $"  {option.Flag} ",
                HelpText.Help.Replace("-h, -?, ", "", StringComparison.Ordinal).Replace("-v, ", "", StringComparison.Ordinal),
                StringComparison.Ordinal);
            Assert.All(option.Aliases, static alias => Assert.Contains($" {alias}", HelpText.Help, StringComparison.Ordinal));
        }

        Assert.All(["TUNNEL2_SERVER", "TUNNEL2_TOKEN", "  0  ", "  1  ", "  2  ", "  3  ", "  4  ", "  5  "], static part =>
            Assert.Contains(part, HelpText.Help, StringComparison.Ordinal));
    }
}
