using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

public sealed class ContainerUsageTests : IDisposable
{
    private readonly ManualTimeProvider _time = new();
    private readonly string _root = Directory.CreateTempSubdirectory("tunnel2-cgroup-").FullName;

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Limits_and_use_are_read_from_either_version_of_cgroups(bool version2)
    {
        Write("proc/self/cgroup", version2 ? "0::/app\n" : "5:memory:/app\n4:cpu,cpuacct:/elsewhere\n");
        Write("proc/self/status", "Name:\ttest\nThreads:\t7\n");
        string prefix = "sys/fs/cgroup/";
        if (version2)
        {
            Write(prefix + "cgroup.controllers", "cpu memory\n");
            Write(prefix + "app/memory.current", "600\n");
            Write(prefix + "app/memory.max", "1000\n");
            Write(prefix + "app/memory.stat", "anon 400\ninactive_file 100\n");
            Write(prefix + "app/cpu.max", "50000 100000\n");
            Write(prefix + "app/cpu.stat", "usage_usec 1000000\n");
        }
        else
        {
            Write(prefix + "memory/app/memory.usage_in_bytes", "600\n");
            Write(prefix + "memory/app/memory.limit_in_bytes", "1000\n");
            Write(prefix + "memory/app/memory.stat", "total_inactive_file 100\n");
            Write(prefix + "cpu/cpu.cfs_quota_us", "50000\n");
            Write(prefix + "cpu/cpu.cfs_period_us", "100000\n");
            Write(prefix + "cpuacct/cpuacct.usage", "1000000000\n");
        }

        var usage = new ContainerUsage(_time, _root);
        Assert.Equal(new ContainerReading(0.5, 0, 7), usage.Read());
        _time.Advance(TimeSpan.FromSeconds(1));
        if (version2)
        {
            Write(prefix + "app/cpu.stat", "usage_usec 1250000\n");
        }
        else
        {
            Write(prefix + "cpuacct/cpuacct.usage", "1250000000\n");
        }

        Assert.Equal(0.5, usage.Read().Cpu, 3);
    }

    [Fact]
    public void Where_the_system_does_not_say_how_many_threads_there_are_those_of_the_pool_count() =>
        Assert.InRange(new ContainerUsage(_time, _root).Read().Threads, 1, 32_767);

    [Fact]
    public void Without_limits_the_machines_memory_and_the_own_processor_time_count()
    {
        Write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n");
        Assert.Equal(0.75, new ContainerUsage(_time, _root).Read().Memory, 3);
    }

    [Theory]
    [InlineData("MemTotal:        1000 kB\nMemAvailable:\t250 kB", 0.75)]
    [InlineData("MemTotalAll: 5 kB\nMemTotal: 1000 kB\nMemAvailable: much\nMemAvailable: 100 kB\n", 0.9)]
    [InlineData("MemTotal: 1000 kB\n", 1)]
    [InlineData("MemTotal:\nMemAvailable: 250 kB\n", 0)]
    [InlineData("", 0)]
    public void Memory_is_read_from_every_form_of_the_file(string text, double expected)
    {
        Write("proc/meminfo", text);
        Assert.Equal(expected, new ContainerUsage(_time, _root).Read().Memory, 3);
    }

    [Fact]
    public void A_group_without_a_quota_counts_the_own_processor_time()
    {
        Write("proc/self/cgroup", "0::/\n");
        Write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        Write("sys/fs/cgroup/cpu.max", "max 100000\n");
        Write("sys/fs/cgroup/cpu.stat", "usage_usec 1000000\n");
        var usage = new ContainerUsage(_time, _root);
        usage.Read();
        Write("sys/fs/cgroup/cpu.stat", "usage_usec 900000000000\n");
        _time.Advance(TimeSpan.FromHours(10));
        Assert.InRange(usage.Read().Cpu, 0, 0.01);
    }

    private void Write(string path, string text)
    {
        string full = Path.Combine(_root, path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        File.WriteAllText(full, text);
    }
}
