using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Tests.Reload;

public sealed class WatchedReloadTests : IDisposable
{
    private readonly string _path = Path.GetTempFileName();

    [Fact]
    public void What_could_not_be_taken_over_is_tried_again_until_it_can_be_and_each_failure_is_reported_once()
    {
        var reload = new Scripted(_path);
        reload.ReloadIfChanged();
        Assert.Equal(0, reload.Calls);

        File.WriteAllText(_path, "new");
        reload.Next = () => throw new IOException("the disk\nfailed");
        Look(reload, 3);
        Assert.Equal((3, "the disk failed"), (reload.Calls, Assert.Single(reload.Reports)));

        reload.Next = static () => [new ReloadProblem("a", "wrong"), new ReloadProblem("b", "wrong")];
        Look(reload, 3);
        Assert.Equal((6, 3), (reload.Calls, reload.Reports.Count));

        // Nothing changed in the file: that it was read is what counts.
        reload.Next = static () => [];
        Look(reload, 3);
        Assert.Equal((7, 3), (reload.Calls, reload.Reports.Count));
    }

    [Fact]
    public void A_failure_that_comes_again_later_is_reported_again()
    {
        var reload = new Scripted(_path) { Next = static () => throw new InvalidOperationException("no") };
        File.WriteAllText(_path, "new");
        Look(reload, 2);
        File.WriteAllText(_path, "");
        Look(reload, 2);
        File.WriteAllText(_path, "new");
        Look(reload, 2);
        Assert.Equal(["no", "no"], reload.Reports);
        Assert.Equal(4, reload.Calls);
    }

    public void Dispose() => File.Delete(_path);

    private static void Look(Scripted reload, int times)
    {
        for (var i = 0; i < times; i++)
        {
            reload.ReloadIfChanged();
        }
    }

    private sealed class Scripted(string path) : WatchedReload(new WatchedFiles([path]))
    {
        public Func<IReadOnlyList<ReloadProblem>> Next { get; set; } = static () => [];

        public int Calls { get; private set; }

        public List<string> Reports { get; } = [];

        protected override IReadOnlyList<ReloadProblem> Reload()
        {
            Calls++;
            return Next();
        }

        protected override void Report(ReloadProblem problem) => Reports.Add(problem.Reason);
    }
}
