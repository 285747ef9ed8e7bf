using System.Text;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Policies;

namespace Tunnel2.ProxyEntry.Tests.Policies;

public sealed class PolicyStoreTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");

    [Theory]
    [InlineData(0, "web", "agents/web.json")]
    [InlineData(0, "_web", "agents/_web.json")]
    [InlineData(1, "ci.2", "tokens/ci.2.json")]
    [InlineData(2, "web", "names/web.json")]
    [InlineData(2, "*.shop.example.org", "names/_.shop.example.org.json")]
    public void A_policy_is_kept_in_a_file_of_its_own_that_only_its_owner_may_read(int scope, string name, string file)
    {
        var store = Store();
        var target = new PolicyTarget((PolicyScope)scope, name);
        Assert.Equal("", store.Stamp());
        Assert.Empty(store.Load());
        store.Save(target, Read("""[ { "path": "/a", "deny": true }, ]"""));
        var path = Path.Combine(store.Folder, file);
        Assert.Equal("""[{"path":"/a","deny":true}]""", File.ReadAllText(path));
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(path));
            Assert.Equal(
                UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute,
                File.GetUnixFileMode(Path.GetDirectoryName(path)!));
        }

        var kept = Assert.Single(Store().Load());
        Assert.Equal((target, null), (kept.Target, kept.Problem));
        Assert.True(kept.Policy.IsSameAs(Read("""[ { "path": "/a", "deny": true } ]""")));
        var before = store.Stamp();
        store.Delete(target);
        Assert.NotEqual(before, store.Stamp());
        Assert.Empty(store.Load());
        store.Delete(target);
    }

    [Fact]
    public void A_folder_that_cannot_be_read_is_not_one_without_policies()
    {
        var store = Store();
        Directory.CreateDirectory(store.Folder);
        var agents = Path.Combine(store.Folder, "agents");
        File.CreateSymbolicLink(agents, agents);
        Assert.Null(store.Stamp());
        Assert.ThrowsAny<IOException>(() => store.Load());
    }

    [Theory]
    [InlineData("", "is not JSON")]
    [InlineData("[ { \"path\": \"/a\" } ]", "row 1 (line 1)")]
    [InlineData("[ { \"country\": \"DE\", \"deny\": true } ]", "CountryHeader")]
    public void A_file_that_cannot_be_used_closes_its_tunnels(string text, string words)
    {
        var store = Store();
        Directory.CreateDirectory(Path.Combine(store.Folder, "names"));
        File.WriteAllText(Path.Combine(store.Folder, "names", "web.json"), text);
        var kept = Assert.Single(store.Load());
        Assert.Equal(new PolicyTarget(PolicyScope.Name, "web"), kept.Target);
        Assert.Contains(words, kept.Problem, StringComparison.Ordinal);
        Assert.Equal(PolicyEnd.Deny, Assert.Single(kept.Policy.Rows).End);
    }

    [Fact]
    public void A_file_that_is_too_long_closes_its_tunnels()
    {
        var store = Store();
        Directory.CreateDirectory(Path.Combine(store.Folder, "tokens"));
        File.WriteAllText(Path.Combine(store.Folder, "tokens", "ci.json"), new string(' ', Policy.MaxFileLength + 1));
        Assert.Contains("longer", Assert.Single(store.Load()).Problem, StringComparison.Ordinal);
    }

    public void Dispose() => _folder.Delete(recursive: true);

    private static Policy Read(string text) => PolicyReader.Read(Encoding.UTF8.GetBytes(text)).Policy!;

    private PolicyStore Store() => new(Path.Combine(_folder.FullName, "state"), knowsCountries: false);
}
