using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class CertificatesCommandTests : IDisposable
{
    private const string Acme = "--Tunnel2:Acme:Directory=https://ca.example.test/directory";

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-certificates-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Theory]
    [InlineData("there is no certificate in the settings\n", "list")]
    [InlineData(
        "there is no certificate in the settings, and ca.example.test has issued none yet\n",
        "list", Acme, "--Tunnel2:Acme:AcceptTerms=true", "--Tunnel2:Public:HttpsListen=127.0.0.1:0")]
    [InlineData("[]\n", "list", "--json")]
    public async Task Where_there_is_no_certificate_the_list_says_so(string expected, params string[] words)
    {
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(0, await CertificatesCommand.RunAsync(
            ["certificate", .. words, "--Tunnel2:StateFolder=" + _folder], output, TextWriter.Null));
        Assert.Equal(expected, output.ToString());
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true, "--Tunnel2:Public:HttpsListen=127.0.0.1:0")]
    public async Task The_certificate_of_the_uplink_is_for_visitors_where_there_is_https(bool isForVisitors, params string[] words)
    {
        var file = Path.Combine(_folder, "uplink.pem");
        using var certificate = SelfMadeCertificate.Create();
        await File.WriteAllTextAsync(file, SelfMadeCertificate.ToPem(certificate), TestContext.Current.CancellationToken);
        using var output = new StringWriter { NewLine = "\n" };
        Assert.Equal(0, await CertificatesCommand.RunAsync(
            ["certificate", "list", .. words, "--Tunnel2:Uplink:Certificate=" + file, "--Tunnel2:StateFolder=" + _folder],
            output, TextWriter.Null));
        Assert.Equal(isForVisitors, output.ToString().Contains($"(visitors, {file})", StringComparison.Ordinal));
        Assert.Contains($"(agents, {file})", output.ToString(), StringComparison.Ordinal);
    }
}
