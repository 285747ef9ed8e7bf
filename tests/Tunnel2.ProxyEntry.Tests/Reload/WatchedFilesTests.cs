using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Tests.Reload;

public sealed class WatchedFilesTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-watch-").FullName;

    [Fact]
    public void What_counts_is_what_is_in_the_files()
    {
        var (first, second) = (Path.Combine(_folder, "a"), Path.Combine(_folder, "b"));
        File.WriteAllText(first, "one");
        var watch = new WatchedFiles([first, second]);
        Assert.False(watch.HaveChanged());

        File.WriteAllText(first, "one");
        Assert.False(watch.HaveChanged());
        File.WriteAllText(first, "two");
        AssertNews();
        File.WriteAllText(second, "");
        AssertNews();
        File.Delete(first);
        AssertNews();

        void AssertNews()
        {
            // As long as no code has taken it over.
            Assert.True(watch.HaveChanged());
            Assert.True(watch.HaveChanged());
            watch.Accept();
            Assert.False(watch.HaveChanged());
        }
    }

    [Fact]
    public void A_link_that_leads_elsewhere_is_a_change()
    {
        var (one, two, link) = (Path.Combine(_folder, "1"), Path.Combine(_folder, "2"), Path.Combine(_folder, "link"));
        File.WriteAllText(one, "one");
        File.WriteAllText(two, "two");
        File.CreateSymbolicLink(link, one);
        var watch = new WatchedFiles([link]);
        File.Delete(link);
        File.CreateSymbolicLink(link, two);
        Assert.True(watch.HaveChanged());
    }

    [Fact]
    public void Only_what_was_seen_is_taken_over()
    {
        var path = Path.Combine(_folder, "a");
        var watch = new WatchedFiles([path]);
        File.WriteAllText(path, "seen");
        Assert.True(watch.HaveChanged());
        File.WriteAllText(path, "same");
        watch.Accept();
        Assert.True(watch.HaveChanged());
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);
}
