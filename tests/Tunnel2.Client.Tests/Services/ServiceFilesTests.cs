using System.Text;
using Tunnel2.Client.Services;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Services;

/// <summary>The files of services: written in steps, printed from their end, kept at a bounded size.</summary>
public sealed class ServiceFilesTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");

    public void Dispose() => _folder.Delete(recursive: true);

    private string PathOf(string name) => Path.Combine(_folder.FullName, name);

    private static Task<string?> RunAsync(params ServiceStep[] steps) =>
        ServicePlan.RunAsync(steps, static _ => null, TimeProvider.System, TestContext.Current.CancellationToken);

    [Fact]
    public async Task A_secret_is_its_owner_s_alone_in_a_folder_that_is_too_and_other_files_are_for_all()
    {
        string secret = PathOf("etc/tunnel2/credentials/a.token");
        string unit = PathOf("etc/systemd/a.service");
        Assert.Null(await RunAsync(new ServiceStep.Write(secret, "t\n", IsSecret: true), new ServiceStep.Write(unit, SystemdManager.Mark)));
        Assert.Equal("t\n", await File.ReadAllTextAsync(secret, TestContext.Current.CancellationToken));
        if (!OperatingSystem.IsWindows())
        {
            Assert.Equal(Convert.ToInt32("600", 8), (int)File.GetUnixFileMode(secret));
            Assert.Equal(Convert.ToInt32("700", 8), (int)File.GetUnixFileMode(Path.GetDirectoryName(secret)!));
            Assert.Equal(Convert.ToInt32("755", 8), (int)File.GetUnixFileMode(PathOf("etc/tunnel2")));
            Assert.Equal(Convert.ToInt32("644", 8), (int)File.GetUnixFileMode(unit));
        }

        Assert.Single(Directory.GetFiles(Path.GetDirectoryName(unit)!));
        Assert.Null(await RunAsync(new ServiceStep.Delete(secret), new ServiceStep.Delete(secret)));
        Assert.False(File.Exists(secret));
    }

    [Fact]
    public async Task The_first_step_that_fails_is_the_last_unless_it_may()
    {
        string? problem = await RunAsync(
            new ServiceStep.Run(["no-such-program"], MayFail: true), new ServiceStep.Write(PathOf("a"), "a"),
            new ServiceStep.Run(["no-such-program", "x"]), new ServiceStep.Write(PathOf("b"), "b"));
        Assert.Equal("'no-such-program x' ended with 127: no-such-program is not to be found on this machine", problem);
        Assert.True(File.Exists(PathOf("a")));
        Assert.False(File.Exists(PathOf("b")));
    }

    [Fact]
    public void A_file_of_another_s_making_is_found_before_anything_is_done()
    {
        File.WriteAllText(PathOf("theirs"), "[Unit]\n");
        File.WriteAllText(PathOf("ours"), SystemdManager.Mark + "\n[Unit]\n");
        ServiceStep.Write Step(string name) => new(PathOf(name), "text");
        Assert.Null(ServicePlan.FindForeign([Step("none"), Step("ours")]));
        Assert.Equal(PathOf("theirs"), ServicePlan.FindForeign([Step("ours"), Step("theirs")]));
    }

    [Theory]
    [InlineData("", 3, "")]
    [InlineData("a", 3, "a")]
    [InlineData("a\nb\n", 1, "b\n")]
    [InlineData("a\nb\n", 2, "a\nb\n")]
    [InlineData("a\nb", 1, "b")]
    [InlineData("a\n\n\n", 2, "\n\n")]
    public void The_last_lines_are_found(string text, int lines, string expected) =>
        Assert.Equal(expected, text[TailedFile.StartOf(Encoding.UTF8.GetBytes(text), lines)..]);

    [Fact]
    public async Task What_is_added_to_a_followed_file_is_printed_also_after_it_was_emptied()
    {
        var time = new ManualTimeProvider();
        string path = PathOf("log");
        await File.WriteAllTextAsync(path, "one\ntwo\n", TestContext.Current.CancellationToken);
        using var stop = new CancellationTokenSource();
        using var output = new StringWriter();
        Task printing = TailedFile.PrintAsync(path, 1, follow: true, output, time, stop.Token);
        await time.ArmedTimers.WaitForAsync(1);
        Assert.Equal("two\n", output.ToString());
        await File.AppendAllTextAsync(path, "three\n", TestContext.Current.CancellationToken);
        await TickUntilAsync("two\nthree\n");
        await File.WriteAllTextAsync(path, "four\n", TestContext.Current.CancellationToken);
        await TickUntilAsync("two\nthree\nfour\n");
        await stop.CancelAsync();
        await printing;

        Task TickUntilAsync(string expected) => WaitSignal.UntilAsync(
            () =>
            {
                time.Advance(TimeSpan.FromSeconds(1));
                return output.ToString() == expected;
            },
            expected,
            TimeSpan.FromSeconds(20));
    }

    [Fact]
    public void A_log_is_kept_in_two_files_of_bounded_size()
    {
        string path = PathOf("agent.log");
        using (var log = new ServiceLog(path, mostBytes: 100))
        {
            for (int i = 0; i < 100; i++)
            {
                log.WriteLine($"line {i} ä");
            }
        }

        Assert.EndsWith("line 99 ä\n", File.ReadAllText(path), StringComparison.Ordinal);
        Assert.InRange(new FileInfo(path).Length, 1, 120);
        Assert.InRange(new FileInfo(path + ".1").Length, 100, 120);
    }

    [Fact]
    public void A_log_that_cannot_be_written_disturbs_nothing()
    {
        using var log = new ServiceLog(PathOf("none/agent.log"));
        log.WriteLine("lost");
        Directory.CreateDirectory(PathOf("none"));
        log.WriteLine("kept");
        log.Dispose();
        Assert.Equal("kept\n", File.ReadAllText(PathOf("none/agent.log")));
    }
}
