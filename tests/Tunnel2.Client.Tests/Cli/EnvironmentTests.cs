using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.TestUtilities.Documents;

namespace Tunnel2.Client.Tests.Cli;

public sealed class EnvironmentTests
{
    private const string OlderForm = "--dev-session-id 6f9619ff-8b86-d011-b42d-00c04fc964ff --backend-port 3000";

    private static CommandLineResult Parse(string line, params (string Name, string Value)[] environment) =>
        new AgentCommandLine().Parse(line.Split(' '), name => environment.FirstOrDefault(variable => variable.Name == name).Value);

    [Fact]
    public void Variables_stand_in_for_flags()
    {
        AgentOptions options = Parse(
            "http",
            ("TUNNEL2_UPSTREAM", "box:3000"), ("TUNNEL2_NAME", "web"), ("TUNNEL2_HOST_HEADER", "rewrite"), ("TUNNEL2_UPLINKS", "3"),
            ("TUNNEL2_STREAMS", "100"), ("TUNNEL2_BACKEND_CONNECTIONS", "20"), ("TUNNEL2_BUFFER_MEGABYTES", "64"), ("TUNNEL2_LOOPS", "5"),
            ("TUNNEL2_EXIT_ON_FAILURE", "yes"), ("TUNNEL2_VERBOSE", "TRUE"), ("TUNNEL2_JSON", "1")).Options!;

        Assert.Equal("http://box:3000", options.Upstream.ToString());
        Assert.Equal("web", options.Name);
        Assert.Equal("rewrite", options.HostHeader.ToString());
        Assert.Equal(3, options.Uplinks.Count);
        Assert.Equal((100, 20, 64, 5), (options.MaxStreams, options.BackendConnections.Count, options.BufferMegabytes, options.Loops));
        Assert.True(options is { ExitOnFailure: true, Verbose: true, Json: true });
    }

    [Fact]
    public void Flags_go_before_variables()
    {
        AgentOptions options = Parse(
            "http 1 --url flag.example.com --host-header keep --uplinks auto",
            ("TUNNEL2_UPSTREAM", "2"), ("TUNNEL2_NAME", "variable"), ("TUNNEL2_HOST_HEADER", "rewrite"), ("TUNNEL2_UPLINKS", "3"),
            ("TUNNEL2_JSON", "0")).Options!;

        Assert.Equal("http://127.0.0.1:1", options.Upstream.ToString());
        Assert.Equal("flag", options.Name);
        Assert.Equal("keep", options.HostHeader.ToString());
        Assert.True(options.Uplinks.IsAuto);
        Assert.False(options.Json);
    }

    [Fact]
    public void What_trusts_the_server_goes_before_any_variable_that_does()
    {
        const string Pin = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        (string, string)[] environment = [("TUNNEL2_SERVER_FINGERPRINT", "not one"), ("TUNNEL2_SERVER_CA", "/nowhere.pem")];
        Assert.Equal([Pin], Parse("http 3000 --server-fingerprint " + Pin, environment).Options!.Tls!.ServerFingerprints);
        Assert.Matches("^--server-ca: '/flag.pem' cannot be used: [^;]+$", Parse("http 3000 --server-ca /flag.pem", environment).Mistake);
        Assert.Contains(
            "TUNNEL2_SERVER_CA: cannot go with",
            Parse("http 3000", ("TUNNEL2_SERVER_FINGERPRINT", Pin), environment[1]).Mistake,
            StringComparison.Ordinal);
        Assert.Equal([Pin], Parse(OlderForm, ("TUNNEL2_SERVER_FINGERPRINT", Pin)).Options!.Tls!.ServerFingerprints);
    }

    [Theory]
    [InlineData("--server-fingerprint")]
    [InlineData("--server-ca")]
    [InlineData("--client-cert")]
    [InlineData("--client-key")]
    public void A_flag_about_trust_that_is_empty_is_not_passed_over(string flag)
    {
        CommandLineResult result = new AgentCommandLine().Parse(["http", "3000", flag, ""], static _ => null);
        Assert.Equal($"{flag}: is empty", result.Mistake);
    }

    [Fact]
    public void The_older_form_has_its_own_name_and_upstream() =>
        Assert.Equal(
            "http://127.0.0.1:3000", Parse(OlderForm, ("TUNNEL2_NAME", "web"), ("TUNNEL2_UPSTREAM", "9")).Options!.Upstream.ToString());

    [Theory]
    [InlineData("TUNNEL2_NAME", "-", "TUNNEL2_NAME: '-' is not a name")]
    [InlineData("TUNNEL2_SERVER", "a:b:c", "TUNNEL2_SERVER: ")]
    [InlineData("TUNNEL2_TOKEN", "zwei wörter", "TUNNEL2_TOKEN: is not a token")]
    [InlineData("TUNNEL2_ALLOW_PLAINTEXT", "perhaps", "TUNNEL2_ALLOW_PLAINTEXT: is neither true nor false")]
    [InlineData("TUNNEL2_UPLINKS", "99", "TUNNEL2_UPLINKS: '99' is not auto or a number")]
    [InlineData("TUNNEL2_VERBOSE", "loud", "TUNNEL2_VERBOSE: is neither true nor false")]
    [InlineData("TUNNEL2_SERVER_FINGERPRINT", "abc", "TUNNEL2_SERVER_FINGERPRINT: 'abc' is not sha256:")]
    [InlineData("TUNNEL2_SERVER_CA", "/nowhere.pem", "TUNNEL2_SERVER_CA: '/nowhere.pem' cannot be used")]
    [InlineData("TUNNEL2_CLIENT_CERT", "/nowhere.pem", "TUNNEL2_CLIENT_CERT: '/nowhere.pem' cannot be used")]
    [InlineData("TUNNEL2_CLIENT_KEY", "/nowhere.pem", "TUNNEL2_CLIENT_KEY: needs --client-cert")]
    [InlineData("TUNNEL2_ENGINE", "fast", "TUNNEL2_ENGINE: is not an engine; use auto, epoll or portable")]
    [InlineData("TUNNEL2_ENGINE", "event-loop", "TUNNEL2_ENGINE: is not an engine any more; epoll is its name now")]
    [InlineData("TUNNEL2_ENGINE", "pipelines", "TUNNEL2_ENGINE: is not an engine; use auto, epoll or portable")]
    [InlineData(
        "TUNNEL2_TRANSPORT", "sockets", "TUNNEL2_TRANSPORT: is not a variable any more; use TUNNEL2_ENGINE (auto, epoll or portable)")]
    public void A_mistake_names_the_variable(string name, string value, string mistake) =>
        Assert.StartsWith(mistake, Parse("http 3000", (name, value)).Mistake, StringComparison.Ordinal);

    [Theory]
    [InlineData("TUNNEL2_NAME")]
    [InlineData("TUNNEL2_SERVER")]
    [InlineData("TUNNEL2_TOKEN")]
    [InlineData("TUNNEL2_ENGINE")]
    [InlineData("TUNNEL2_TRANSPORT")]
    [InlineData("TUNNEL2_JSON")]
    [InlineData("TUNNEL2_SERVER_FINGERPRINT")]
    [InlineData("TUNNEL2_SERVER_CA")]
    [InlineData("TUNNEL2_CLIENT_CERT")]
    [InlineData("TUNNEL2_CLIENT_KEY")]
    public void An_empty_variable_is_none(string name) => Assert.NotNull(Parse("http 3000", (name, "")).Options);

    /// <summary>As where a file of Compose takes it from a variable that is not there.</summary>
    [Theory]
    [InlineData("TUNNEL2_BASIC_AUTH", "")]
    [InlineData("TUNNEL2_ALLOW_IP", "")]
    [InlineData("TUNNEL2_DENY_IP", " ")]
    [InlineData("TUNNEL2_JWT_ISSUER", "")]
    [InlineData("TUNNEL2_JWT_AUDIENCE", "")]
    [InlineData("TUNNEL2_OIDC", "")]
    [InlineData("TUNNEL2_CLIENT_CA", "")]
    [InlineData("TUNNEL2_POLICY", "")]
    [InlineData("TUNNEL2_VERIFY_WEBHOOK", "")]
    public void A_rule_for_visitors_that_came_out_empty_opens_nothing(string name, string value)
    {
        var parsed = Parse("http 3000", (name, value));
        Assert.Null(parsed.Options);
        Assert.Contains($"{name}: is empty", parsed.Mistake, StringComparison.Ordinal);
    }

    [Fact]
    public void Help_names_every_variable() => Assert.All(
        AgentSettingTable.All.Select(static setting => setting.Variable)
            .Concat(AgentSettingTable.OtherVariables.Select(static variable => variable.Name)),
        static name => Assert.Contains(name ?? "", HelpText.Help, StringComparison.Ordinal));

    [Theory]
    [InlineData("1", true)]
    [InlineData("true", true)]
    [InlineData("0", false)]
    [InlineData("", false)]
    public void A_variable_permits_a_token_without_tls(string value, bool isAllowed) =>
        Assert.Equal(isAllowed, Parse("http 3000", ("TUNNEL2_ALLOW_PLAINTEXT", value)).Options!.AllowPlaintextToken);

    [Fact]
    public void The_older_form_s_host_goes_before_the_variable() =>
        Assert.Equal("box:12001", Parse(OlderForm + " --tunnel-host box", ("TUNNEL2_SERVER", "elsewhere:7")).Options!.Server.ToString());

    [Fact]
    public void The_older_form_s_port_goes_with_the_variable() =>
        Assert.Equal("elsewhere:9", Parse(OlderForm + " --tunnel-port 9", ("TUNNEL2_SERVER", "elsewhere:7")).Options!.Server.ToString());

    /// <summary>TUNNEL2_ACCEPT_DOCS=1 rewrites the tables.</summary>
    [Theory]
    [InlineData("README.md")]
    [InlineData("docs/client.md")]
    public void The_documents_rows_are_those_of_the_table(string document)
    {
        var (actual, expected) = GeneratedRows.Make(document, static rows => rows switch
        {
            "flags" => AgentSettingTable.All.Where(static setting => setting.IsAt(AgentSettingPlaces.Flag) && !setting.IsOlderForm)
                .Select(static setting => setting.ToReadmeRow()),
            "exit-codes" => CommandTable.ExitCodes.Select(static code => $"| {code.Code} | {code.Words} |"),
            "commands" => CommandTable.All.Select(static command =>
                $"| `{command.Usage.Replace("|", "\\|", StringComparison.Ordinal)}` | {command.Summary} |"),
            "settings" => AgentSettingTable.All.Where(static setting => !setting.IsVariableAlone && !setting.IsOlderForm)
                .Select(static setting => setting.ToPlacesRow()),
            _ => AgentSettingTable.All.Where(static setting => setting.IsVariableAlone)
                .Select(static setting => (Name: setting.Variable!, setting.Words))
                .Concat(AgentSettingTable.OtherVariables)
                .Select(static variable => $"| `{variable.Name}` | {variable.Words} |"),
        });

        Assert.Equal(expected, actual);
    }

    [Fact]
    public void A_misspelt_flag_gets_a_suggestion() =>
        Assert.Equal("--nmae: unknown flag, did you mean --name?", Parse("http 3000 --nmae web").Mistake);
}
