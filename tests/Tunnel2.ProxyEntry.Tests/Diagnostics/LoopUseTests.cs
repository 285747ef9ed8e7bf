using System.Globalization;
using System.Text;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Diagnostics;

public sealed class LoopUseTests : IDisposable
{
    private readonly string _tasks = Directory.CreateTempSubdirectory("tunnel2-tasks-").FullName;
    private readonly ManualTimeProvider _time = new();

    public void Dispose() => Directory.Delete(_tasks, recursive: true);

    [Theory]
    [InlineData("7 (Tunnel2 loop 0) S 1 2 3 4 5 6 7 8 9 10 120 30 0 0 20", 150)]
    [InlineData("7 (a) b) c) R 1 2 3 4 5 6 7 8 9 10 1 2 0", 3)]
    [InlineData("7 (a) R 1 2 3 4 5 6 7 8 9 10 1", -1)]
    [InlineData("7 (a) R 1 2 3 4 5 6 7 8 9 10 x y 0", -1)]
    [InlineData("", -1)]
    public void The_processor_time_of_a_thread_is_read(string line, long ticks) =>
        Assert.Equal(ticks, LoopUse.TicksOf(Encoding.ASCII.GetBytes(line)));

    [Fact]
    public void Each_loop_has_its_share_of_the_time_between_two_readings()
    {
        var use = new LoopUse(_time, _tasks);
        Thread(10, "Tunnel2 loop 1", 100);
        Thread(11, "Tunnel2 loop 0", 500);
        Thread(12, "Tunnel2 loop x", 500);
        Thread(13, ".NET TP Worker", 500);
        Assert.Equal([0.0, 0.0], use.Read(2));
        _time.Advance(TimeSpan.FromSeconds(2));
        Thread(10, "Tunnel2 loop 1", 150);
        Thread(11, "Tunnel2 loop 0", 900);
        Assert.Equal([1.0, 0.25], use.Read(2));
    }

    [Fact]
    public void A_loop_that_was_added_is_found_and_one_that_ended_is_idle()
    {
        var use = new LoopUse(_time, _tasks);
        Thread(10, "Tunnel2 loop 0", 100);
        Assert.Equal([0.0], use.Read(1));
        Thread(11, "Tunnel2 loop 1", 100);
        Assert.Equal([0.0, 0.0], use.Read(2));
        Directory.Delete(Path.Combine(_tasks, "10"), recursive: true);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal([0.0, 0.0], use.Read(2));
    }

    [Fact]
    public void The_time_of_each_loop_is_a_total_that_readings_do_not_change()
    {
        var use = new LoopUse(_time, _tasks);
        Thread(10, "Tunnel2 loop 1", 150);
        Thread(11, "Tunnel2 loop 0", 900);
        Assert.Equal([(0, 9.0), (1, 1.5)], use.Totals(2));
        Assert.Equal([(0, 9.0), (1, 1.5)], use.Totals(2));
        Directory.Delete(Path.Combine(_tasks, "11"), recursive: true);
        Assert.Equal([(1, 1.5)], use.Totals(2));
    }

    [Fact]
    public void Where_the_system_has_no_such_files_there_are_no_shares()
    {
        var use = new LoopUse(_time, Path.Combine(_tasks, "none"));
        Assert.Empty(use.Read(2));
        Assert.Empty(use.Totals(2));
    }

    private void Thread(int id, string name, int ticks)
    {
        var folder = Directory.CreateDirectory(Path.Combine(_tasks, id.ToString(CultureInfo.InvariantCulture))).FullName;
        File.WriteAllText(Path.Combine(folder, "comm"), name + "\n");
        File.WriteAllText(Path.Combine(folder, "stat"), $"{id} ({name}) S 1 2 3 4 5 6 7 8 9 10 {ticks - 1} 1 0 0 20 0 1\n");
    }
}
