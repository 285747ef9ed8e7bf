using Tunnel2.Client.Logins;
using Tunnel2.Client.Services;

namespace Tunnel2.Client.Tests.Services;

public sealed class ServiceSetupTests : IDisposable
{
    private static readonly ServiceId _user = new(null, IsOfUser: true);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly Dictionary<string, string?> _environment = [];

    public ServiceSetupTests() => _environment["XDG_CONFIG_HOME"] = _folder.FullName;

    public void Dispose() => _folder.Delete(recursive: true);

    private string Write(string text, string name = "tunnels.yml")
    {
        string path = Path.Combine(_folder.FullName, name);
        File.WriteAllText(path, text);
        return path;
    }

    private (ServiceDefinition? Service, IReadOnlyList<string> Mistakes) Make(
        string text, ServiceId? id = null, string? runAs = null, string? tokenFile = null) => ServiceSetup.Make(
            _environment.GetValueOrDefault, ["/usr/bin/tunnel2"], Write(text), id ?? _user, runAs, tokenFile);

    private ServiceDefinition Made(string text, string? tokenFile = null)
    {
        var (service, mistakes) = Make(text, tokenFile: tokenFile);
        Assert.Equal([], mistakes);
        return service!;
    }

    private string Refused(string text, ServiceId? id = null, string? runAs = null)
    {
        var (service, mistakes) = Make(text, id, runAs);
        Assert.Null(service);
        Assert.NotEmpty(mistakes);
        return string.Join('\n', mistakes);
    }

    private void LogIn(string? token = "s3cret") => new StoredLogin(StoredLogin.PathFor(_environment.GetValueOrDefault)!, "t.example")
    {
        Token = token,
        Fingerprint = "sha256:" + new string('a', 64),
    }.Write();

    [Fact]
    public void A_file_that_says_everything_is_enough()
    {
        ServiceDefinition service = Made("server: t.example\ntoken: s3cret\ntunnels:\n- name: web\n  upstream: 3000\n");
        Assert.Null(service.Token);
        Assert.Empty(service.Variables);
        Assert.True(Path.IsPathRooted(service.ConfigFile));
    }

    [Fact]
    public void Server_trust_and_token_of_a_login_go_with_the_service()
    {
        LogIn();
        ServiceDefinition service = Made("tunnels:\n- name: web\n  upstream: 3000\n- name: api\n  upstream: 3001\n");
        Assert.Equal("s3cret", service.Token);
        Assert.Equal(
            [new("TUNNEL2_SERVER", "t.example"), new("TUNNEL2_SERVER_FINGERPRINT", "sha256:" + new string('a', 64))], service.Variables);
        Assert.DoesNotContain("s3cret", service.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_stored_token_would_not_be_given_to_another_server()
    {
        LogIn();
        string mistakes = Refused("tunnels:\n- name: web\n  upstream: 3000\n- name: api\n  upstream: 3001\n  server: other.example\n");
        Assert.Contains("tunnel api: would get another token", mistakes, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", mistakes, StringComparison.Ordinal);
    }

    [Fact]
    public void The_environment_s_token_goes_with_the_service_and_a_file_wins_over_it()
    {
        _environment["TUNNEL2_TOKEN"] = "s3cret";
        _environment["TUNNEL2_SERVER"] = "t.example";
        ServiceDefinition service = Made("tunnels:\n- upstream: 3000\n");
        Assert.Equal("s3cret", service.Token);
        Assert.Equal([new("TUNNEL2_SERVER", "t.example")], service.Variables);
        Assert.Equal("other", Made("tunnels:\n- upstream: 3000\n", Write("other\n", "token")).Token);
        Assert.Null(Made("token: own\ntunnels:\n- upstream: 3000\n").Token);
    }

    [Theory]
    [InlineData("TUNNEL2_PROXY", "http://user:s3cret@proxy.example:3128")]
    [InlineData("HTTPS_PROXY", "http://user:s3cret@proxy.example:3128")]
    [InlineData("TUNNEL2_HOST_HEADER", "s3cret")]
    [InlineData("TUNNEL2_UPLINKS", "3")]
    public void What_the_environment_says_and_a_service_would_not_hear_is_refused_by_its_name(string variable, string value)
    {
        _environment[variable] = value;
        string mistakes = Refused("server: t.example\ntunnels:\n- name: web\n  upstream: 3000\n");
        Assert.Contains(variable, mistakes, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", mistakes, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("tunnels:\n- upstream: 70000\n")]
    [InlineData("tunnels: []\n")]
    [InlineData("tunnels:\n- upstream: 3000\n  server-ca: ca.pem\n")]
    [InlineData("token-file: token\ntunnels:\n- upstream: 3000\n")]
    [InlineData("token-file: /nowhere/token\ntunnels:\n- upstream: 3000\n")]
    [InlineData("\u0000")]
    public void A_file_with_a_mistake_installs_nothing(string text) => Refused(text);

    [Fact]
    public void A_file_that_is_not_there_installs_nothing()
    {
        var (service, mistakes) = ServiceSetup.Make(
            _environment.GetValueOrDefault, ["/usr/bin/tunnel2"], Path.Combine(_folder.FullName, "none.yml"), _user, null, null);
        Assert.Null(service);
        Assert.Single(mistakes);
    }

    [Fact]
    public void A_service_of_the_machine_sees_no_home_and_no_temporary_folder()
    {
        Assert.SkipUnless(Path.GetTempPath() == "/tmp/", "the temporary folder is /tmp");
        var machine = new ServiceId(null, IsOfUser: false);
        const string Text = "server: t.example\ntunnels:\n- upstream: 3000\n";
        Assert.Contains("does not see /tmp/", Refused(Text, machine), StringComparison.Ordinal);
        Assert.Contains("does not see /tmp/", Refused(Text, machine, "alice"), StringComparison.Ordinal);
        var (_, mistakes) = ServiceSetup.Make(
            _environment.GetValueOrDefault, ["/home/alice/bin/tunnel2"], "/etc/none.yml", machine, null, null);
        Assert.Contains(mistakes, static mistake => mistake.StartsWith("the program: ", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("root")]
    [InlineData("")]
    [InlineData("a b")]
    [InlineData("%i")]
    [InlineData("-a")]
    [InlineData("a\nUser=root")]
    public void A_user_that_is_none_is_refused(string name)
    {
        var (_, mistakes) = ServiceSetup.Make(
            _environment.GetValueOrDefault, ["/usr/bin/tunnel2"], "/etc/none.yml", new ServiceId(null, IsOfUser: false), name, null);
        Assert.Contains("--run-as: is not the name of a user", mistakes);
    }

    [Theory]
    [InlineData("web", true)]
    [InlineData("a-1", true)]
    [InlineData("", false)]
    [InlineData("-a", false)]
    [InlineData("a/b", false)]
    [InlineData("../x", false)]
    [InlineData("a b", false)]
    [InlineData("A", false)]
    [InlineData("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false)]
    public void A_service_has_a_short_plain_name(string name, bool isGood) => Assert.Equal(isGood, ServiceId.MistakeOf(name) is null);
}
