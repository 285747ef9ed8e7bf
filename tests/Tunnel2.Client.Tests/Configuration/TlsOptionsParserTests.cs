using Tunnel2.Client.Core.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class TlsOptionsParserTests : IDisposable
{
    private const string Pin = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-tls-").FullName;

    [Theory]
    [InlineData(null, false)]
    [InlineData("localhost:5000", false)]
    [InlineData("a.localhost", false)]
    [InlineData("127.9.9.9", false)]
    [InlineData("[::1]:1", false)]
    [InlineData("tcp://tunnel.example", false)]
    [InlineData("TLS://127.0.0.1:12001/", true)]
    [InlineData("tunnel.example:12001", true)]
    [InlineData("192.0.2.1", true)]
    [InlineData("localhost.example", true)]
    public void Off_this_machine_there_is_tls_unless_the_address_says_otherwise(string? server, bool expected)
    {
        foreach (var input in new[] { Input(server), Input(null).Give("--server", server, "TUNNEL2_SERVER") })
        {
            var options = Parse(input);
            Assert.Equal(expected, options.Tls is not null);
            Assert.DoesNotContain("://", options.Server.ToString(), StringComparison.Ordinal);
        }
    }

    [Fact]
    public void The_older_form_takes_a_scheme_too()
    {
        var options = Parse(new AgentOptionsInput()
            .Give("--dev-session-id", Guid.NewGuid().ToString())
            .Give("--backend-port", "3000")
            .Give("--tunnel-host", "tls://localhost")
            .Give("--tunnel-port", "5000"));
        Assert.NotNull(options.Tls);
        Assert.Equal("localhost:5000", options.Server.ToString());
    }

    [Fact]
    public void A_fingerprint_means_tls_even_on_this_machine()
    {
        var options = Parse(Input(null).Give("--server-fingerprint", $"{Pin}, {new string('A', 64)}"));
        Assert.Equal([Pin, "sha256:" + new string('a', 64)], options.Tls!.ServerFingerprints);
    }

    [Fact]
    public void Files_are_read_before_anything_is_connected()
    {
        var pem = Write();
        var options = Parse(Input(null).Give("--server-ca", pem).Give("--client-cert", pem));
        Assert.Equal((pem, pem, null), (options.Tls!.ServerCaFile, options.Tls.ClientCertificateFile, options.Tls.ClientKeyFile));
    }

    [Fact]
    public void Every_mistake_is_named()
    {
        Assert.Equal(["--server"], Mistakes(Input("tcp://host").Give("--server-fingerprint", Pin)));
        Assert.Equal(["--server-fingerprint", "--server-fingerprint"], Mistakes(Input(null).Give("--server-fingerprint", "abc,sha1:00")));
        Assert.Equal(["--server-ca"], Mistakes(Input(null).Give("--server-fingerprint", Pin).Give("--server-ca", Write())));
        Assert.Equal(["--client-key"], Mistakes(Input(null).Give("--client-key", Write())));
        Assert.Equal(
            ["--server-ca", "--client-cert"], Mistakes(Input(null).Give("--server-ca", "/nowhere").Give("--client-cert", "/nowhere")));
        var empty = Path.Combine(_folder, "empty.pem");
        File.WriteAllText(empty, "");
        Assert.Equal(["--server-ca", "--client-cert"], Mistakes(Input(null).Give("--server-ca", empty).Give("--client-cert", empty)));
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static AgentOptionsInput Input(string? server) => new AgentOptionsInput().Give("<upstream>", "3000").Give("--server", server);

    private static AgentOptions Parse(AgentOptionsInput input)
    {
        var result = AgentOptionsParser.Parse(input);
        Assert.Empty(result.Mistakes);
        return result.Options!;
    }

    private static IEnumerable<string> Mistakes(AgentOptionsInput input) =>
        AgentOptionsParser.Parse(input).Mistakes.Select(static mistake => mistake.Flag);

    private string Write()
    {
        using var certificate = SelfMadeCertificate.Create();
        var path = Path.Combine(_folder, Guid.NewGuid() + ".pem");
        File.WriteAllText(path, SelfMadeCertificate.ToPem(certificate));
        return path;
    }
}
