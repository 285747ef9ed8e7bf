using Tunnel2.ProxyEntry.Hosting;

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
}
