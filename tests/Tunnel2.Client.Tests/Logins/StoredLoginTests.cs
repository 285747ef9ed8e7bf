using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Logins;

namespace Tunnel2.Client.Tests.Logins;

public sealed class StoredLoginTests : IDisposable
{
    private const string Pin = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly Dictionary<string, string> _environment = [];

    public StoredLoginTests()
    {
        _environment["XDG_CONFIG_HOME"] = _folder.FullName;
    }

    public void Dispose() => _folder.Delete(recursive: true);

    private string? Environment(string name) => _environment.GetValueOrDefault(name);

    private void Store(string server = "tunnel.example.com", string? token = "st0red", string? fingerprint = Pin) =>
        new StoredLogin(StoredLogin.PathFor(Environment)!, server) { Token = token, Fingerprint = fingerprint }.Write();

    private AgentOptions Parse(string line)
    {
        CommandLineResult result = new AgentCommandLine().Parse(line.Split(' '), Environment, _ => "tunnels:\n- upstream: 1\n");
        Assert.Null(result.Mistake);
        return result.Options!;
    }

    [Fact]
    public void What_is_written_is_read_and_only_the_owner_can()
    {
        Store();
        StoredLogin? login = StoredLogin.TryRead(Environment, out string? mistake);
        Assert.Null(mistake);
        Assert.Equal(("tunnel.example.com", "st0red", Pin), (login!.Server, login.Token, login.Fingerprint));
        Assert.DoesNotContain("st0red", login.ToString(), StringComparison.Ordinal);
        Assert.Equal([login.Path], Directory.GetFiles(Path.Combine(_folder.FullName, "tunnel2")));
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(login.Path));
            Assert.Equal(
                UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute,
                File.GetUnixFileMode(Path.GetDirectoryName(login.Path)!));
        }
    }

    [Theory]
    [InlineData("http 3000")]
    [InlineData("http 3000 --server tunnel.example.com")]
    [InlineData("start")]
    public void Commands_use_it_where_they_name_no_other_server(string line)
    {
        Store();
        AgentOptions options = Parse(line);
        Assert.Equal(("tunnel.example.com:12001", "st0red"), (options.Server.ToString(), options.Token));
        Assert.Equal([Pin], options.Tls!.ServerFingerprints);
    }

    [Theory]
    [InlineData("http 3000 --server other.example.com", null)]
    [InlineData("http 3000 --server tunnel.example.com.evil.example", null)]
    [InlineData("http 3000", "other.example.com")]
    [InlineData("start --server other.example.com:7", null)]
    [InlineData("--dev-session-id 6f9619ff-8b86-d011-b42d-00c04fc964ff --backend-port 1 --tunnel-host other.example.com", null)]
    public void Token_and_trust_never_go_to_another_server(string line, string? variable)
    {
        Store();
        if (variable is not null)
        {
            _environment["TUNNEL2_SERVER"] = variable;
        }

        AgentOptions options = Parse(line);
        Assert.NotEqual("tunnel.example.com", options.Server.Host);
        Assert.Null(options.Token);
        Assert.Empty(options.Tls!.ServerFingerprints);
    }

    [Fact]
    public void A_flag_and_a_variable_go_before_it()
    {
        Store();
        _environment["TUNNEL2_TOKEN"] = "variable";
        Assert.Equal("variable", Parse("http 3000").Token);
        Assert.Equal("flag", Parse("http 3000 --token flag").Token);
        string other = Pin.Replace('0', 'f');
        Assert.Equal([other], Parse($"http 3000 --server-fingerprint {other}").Tls!.ServerFingerprints);
    }

    [Theory]
    [InlineData("")]
    [InlineData("{")]
    [InlineData("[]")]
    [InlineData("{\"token\":\"st0red\"}")]
    [InlineData("{\"server\":7,\"token\":\"st0red\"}")]
    [InlineData("{\"server\":\"h\",\"token\":\"st0red\"} x")]
    [InlineData("{\"server\":\"h\\ud800\",\"token\":\"st0red\"}")]
    [InlineData("{\"server\":\"h\",\"token\":\"st0red\\udfff\"}")]
    public void A_file_of_another_form_is_a_mistake_that_shows_nothing_of_it(string text)
    {
        Store();
        File.WriteAllText(StoredLogin.PathFor(Environment)!, text);
        string? mistake = new AgentCommandLine().Parse(["http", "3000"], Environment).Mistake;
        Assert.Contains("login.json: is not what 'tunnel2 login' writes", mistake, StringComparison.Ordinal);
        Assert.DoesNotContain("st0red", mistake, StringComparison.Ordinal);
    }

    [Fact]
    public void A_huge_file_is_not_read_to_its_end()
    {
        Store();
        using (FileStream file = File.OpenWrite(StoredLogin.PathFor(Environment)!))
        {
            file.SetLength(1L << 33);
        }

        Assert.Null(StoredLogin.TryRead(Environment, out string? mistake));
        Assert.NotNull(mistake);
    }

    [Fact]
    public void A_stored_value_that_is_wrong_is_named_with_its_file()
    {
        Store(token: "st0red words");
        string? mistake = new AgentCommandLine().Parse(["http", "3000"], Environment).Mistake;
        Assert.Contains("login.json: token: is not a token", mistake, StringComparison.Ordinal);
        Assert.DoesNotContain("st0red", mistake, StringComparison.Ordinal);
    }
}
