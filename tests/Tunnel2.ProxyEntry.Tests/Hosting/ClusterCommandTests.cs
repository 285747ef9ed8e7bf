using Tunnel2.ProxyEntry.Hosting;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class ClusterCommandTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-init-");

    [Fact]
    public void It_makes_an_authority_once_and_certificates_of_nodes()
    {
        var (code, text, _) = Run("--node", "e1,e2", "--out", In("made"));
        Assert.Equal(0, code);
        Assert.Equal(["ca.key", "ca.pem", "e1.pem", "e2.pem", "secret"], Directory.GetFiles(In("made")).Select(Path.GetFileName).Order());
        Assert.Contains("ca.pem: a new authority", text, StringComparison.Ordinal);
        Assert.DoesNotContain("PRIVATE", text, StringComparison.Ordinal);
        var authority = File.ReadAllText(Path.Combine(In("made"), "ca.pem"));
        var secret = File.ReadAllText(Path.Combine(In("made"), "secret"));
        Assert.DoesNotContain(secret.Trim(), text, StringComparison.Ordinal);
        Assert.Equal(0, Run("--node", "e3", "--out", In("made")).Code);
        Assert.Equal(authority, File.ReadAllText(Path.Combine(In("made"), "ca.pem")));
        Assert.Equal(secret, File.ReadAllText(Path.Combine(In("made"), "secret")));
        Assert.Equal(0, Run("--new-ca", "--out", In("made")).Code);
        Assert.EndsWith(authority, File.ReadAllText(Path.Combine(In("made"), "ca.pem")), StringComparison.Ordinal);
    }

    [Fact]
    public void Without_a_folder_and_a_node_it_uses_those_of_the_settings()
    {
        Assert.Equal(0, Run($"--Tunnel2:StateFolder={In("state")}", "--Tunnel2:EntryId=n7").Code);
        Assert.True(File.Exists(Path.Combine(In("state"), "cluster", "n7.pem")));
    }

    [Theory]
    [InlineData("--node needs a value", "--node")]
    [InlineData("--node: 'E1' is not an EntryId", "--node", "E1")]
    [InlineData("--node: 'a_b' is not an EntryId", "--node", "e1,a_b")]
    [InlineData("--node: 'a-name-too-long' is not an EntryId", "--node", "a-name-too-long")]
    [InlineData("--days: '0' is not a number from 1 to 3650", "--days", "0")]
    [InlineData("--days: 'x' is not a number from 1 to 3650", "--days", "x")]
    [InlineData("'--what' is not known", "--what", "1")]
    [InlineData("'--nod' is not known, did you mean '--node'?", "--nod", "e1")]
    [InlineData("'e1' is too much", "e1")]
    public void A_wrong_command_line_is_named_and_makes_nothing(string mistake, params string[] args)
    {
        var (code, _, error) = Run([.. args, "--out", In("none")]);
        Assert.Equal(2, code);
        Assert.StartsWith($"tunnel2-entry: {mistake}", error, StringComparison.Ordinal);
        Assert.EndsWith(EntryHelp.ClusterUsage, error.Trim(), StringComparison.Ordinal);
        Assert.False(Directory.Exists(In("none")));
    }

    [Theory]
    [InlineData("--node", "e1,ca")]
    [InlineData("--Tunnel2:EntryId=ca")]
    public void A_node_whose_file_would_be_that_of_the_authority_is_refused(params string[] args)
    {
        Assert.Equal(0, Run("--node", "e1", "--out", In("made")).Code);
        var authority = File.ReadAllText(Path.Combine(In("made"), "ca.pem"));
        var (code, _, error) = Run([.. args, "--out", In("made")]);
        Assert.Equal(2, code);
        Assert.Contains("ca.pem is the file of the authority", error, StringComparison.Ordinal);
        Assert.Equal(authority, File.ReadAllText(Path.Combine(In("made"), "ca.pem")));
    }

    [Theory]
    [InlineData("ca.key")]
    [InlineData("ca.pem")]
    public void A_file_that_is_none_is_named(string file)
    {
        Assert.Equal(0, Run("--node", "e1", "--out", In("made")).Code);
        var path = Path.Combine(In("made"), file);
        File.WriteAllText(path, "none\n");
        var (code, _, error) = Run("--node", "e2", "--out", In("made"));
        Assert.Equal(1, code);
        Assert.Contains(path, error, StringComparison.Ordinal);
    }

    public void Dispose() => _folder.Delete(recursive: true);

    private static (int Code, string Text, string Error) Run(params string[] args)
    {
        var (output, error) = (new StringWriter(), new StringWriter());
        var code = ClusterCommand.Run(["cluster", "init", .. args], output, error);
        return (code, output.ToString(), error.ToString());
    }

    private string In(string name) => Path.Combine(_folder.FullName, name);
}
