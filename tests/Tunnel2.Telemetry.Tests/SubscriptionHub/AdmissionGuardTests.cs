using System.Net;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Telemetry.Tests.EventRing;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

public sealed class AdmissionGuardTests
{
    private readonly ManualTime _time = new();

    private static void Observe(AdmissionGuard guard, double memory, double cpu)
    {
        for (int i = 0; i < 50; i++)
        {
            guard.Observe(new ContainerReading(memory, cpu));
        }
    }

    [Theory]
    [InlineData("Limit                     Soft Limit           Hard Limit           Units     \nMax open files            20000                20000                files     \n", 20_000)]
    [InlineData("Max open files            unlimited            unlimited            files     \n", int.MaxValue)]
    [InlineData("Max cpu time              unlimited            unlimited            seconds   \n", int.MaxValue)]
    [InlineData(null, int.MaxValue)]
    public void The_limit_of_open_files_is_read_and_subscribers_leave_two_fifths_of_it(string? limits, int limit)
    {
        string root = Directory.CreateTempSubdirectory("tunnel2-limits-").FullName;
        try
        {
            if (limits is not null)
            {
                Write(root, "proc/self/limits", limits);
            }

            Assert.Equal(limit, OpenFiles.Limit(root));
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }

        Assert.Equal(12_000, OpenFiles.MostSubscribers(20_000));
    }

    [Fact]
    public void It_closes_above_75_percent_and_opens_again_only_below_65()
    {
        var guard = new AdmissionGuard(10, 1000, _time);
        Observe(guard, 0.74, 0.74);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.76, 0.5);
        Assert.Equal(Admission.Memory, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.7, 0.9);
        Assert.Equal(Admission.Memory, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.6, 0.7);
        Assert.Equal(Admission.Cpu, guard.TryAdmit(IPAddress.Loopback));
        Observe(guard, 0.6, 0.6);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
    }

    [Fact]
    public void A_single_spike_closes_nothing()
    {
        var guard = new AdmissionGuard(10, 1000, _time);
        Observe(guard, 0.3, 0.3);
        guard.Observe(new ContainerReading(0.3, 1.0));
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
    }

    [Fact]
    public void One_address_uses_up_its_own_rate_and_gets_it_back_with_time()
    {
        var guard = new AdmissionGuard(1000, 10, _time);
        Assert.Equal(20, Enumerable.Range(0, 50).Count(_ => guard.TryAdmit(IPAddress.Loopback) == Admission.Admitted));
        Assert.Equal(Admission.AddressRate, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.IPv6Loopback));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(10, Enumerable.Range(0, 50).Count(_ => guard.TryAdmit(IPAddress.Loopback) == Admission.Admitted));
    }

    [Fact]
    public void Connections_are_limited_and_given_back()
    {
        var guard = new AdmissionGuard(1, 1000, _time);
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(Admission.Full, guard.TryAdmit(IPAddress.Loopback));
        guard.Release();
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
        Assert.Equal(1, guard.Connections);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Limits_and_use_are_read_from_either_version_of_cgroups(bool version2)
    {
        string root = Directory.CreateTempSubdirectory("tunnel2-cgroup-").FullName;
        try
        {
            Write(root, "proc/self/cgroup", version2 ? "0::/app\n" : "5:memory:/app\n4:cpu,cpuacct:/elsewhere\n");
            string prefix = "sys/fs/cgroup/";
            if (version2)
            {
                Write(root, prefix + "cgroup.controllers", "cpu memory\n");
                Write(root, prefix + "app/memory.current", "600\n");
                Write(root, prefix + "app/memory.max", "1000\n");
                Write(root, prefix + "app/memory.stat", "anon 400\ninactive_file 100\n");
                Write(root, prefix + "app/cpu.max", "50000 100000\n");
                Write(root, prefix + "app/cpu.stat", "usage_usec 1000000\n");
            }
            else
            {
                Write(root, prefix + "memory/app/memory.usage_in_bytes", "600\n");
                Write(root, prefix + "memory/app/memory.limit_in_bytes", "1000\n");
                Write(root, prefix + "memory/app/memory.stat", "total_inactive_file 100\n");
                Write(root, prefix + "cpu/cpu.cfs_quota_us", "50000\n");
                Write(root, prefix + "cpu/cpu.cfs_period_us", "100000\n");
                Write(root, prefix + "cpuacct/cpuacct.usage", "1000000000\n");
            }

            var usage = new ContainerUsage(_time, root);
            Assert.Equal(new ContainerReading(0.5, 0), usage.Read());
            _time.Advance(TimeSpan.FromSeconds(1));
            if (version2)
            {
                Write(root, prefix + "app/cpu.stat", "usage_usec 1250000\n");
            }
            else
            {
                Write(root, prefix + "cpuacct/cpuacct.usage", "1250000000\n");
            }

            Assert.Equal(0.5, usage.Read().Cpu, 3);
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
    }

    [Fact]
    public void Without_limits_the_machines_memory_and_the_own_processor_time_count()
    {
        string root = Directory.CreateTempSubdirectory("tunnel2-cgroup-").FullName;
        try
        {
            Write(root, "proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n");
            Assert.Equal(0.75, new ContainerUsage(_time, root).Read().Memory, 3);
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
    }

    [Theory]
    [InlineData("MemTotal:        1000 kB\nMemAvailable:\t250 kB", 0.75)]
    [InlineData("MemTotalAll: 5 kB\nMemTotal: 1000 kB\nMemAvailable: much\nMemAvailable: 100 kB\n", 0.9)]
    [InlineData("MemTotal: 1000 kB\n", 1)]
    [InlineData("MemTotal:\nMemAvailable: 250 kB\n", 0)]
    [InlineData("", 0)]
    public void Memory_is_read_from_whatever_the_file_says(string text, double expected)
    {
        string root = Directory.CreateTempSubdirectory("tunnel2-cgroup-").FullName;
        try
        {
            Write(root, "proc/meminfo", text);
            Assert.Equal(expected, new ContainerUsage(_time, root).Read().Memory, 3);
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
    }

    [Fact]
    public void A_group_without_a_quota_counts_the_own_processor_time()
    {
        string root = Directory.CreateTempSubdirectory("tunnel2-cgroup-").FullName;
        try
        {
            Write(root, "proc/self/cgroup", "0::/\n");
            Write(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
            Write(root, "sys/fs/cgroup/cpu.max", "max 100000\n");
            Write(root, "sys/fs/cgroup/cpu.stat", "usage_usec 1000000\n");
            var usage = new ContainerUsage(_time, root);
            usage.Read();
            Write(root, "sys/fs/cgroup/cpu.stat", "usage_usec 900000000000\n");
            _time.Advance(TimeSpan.FromHours(10));
            Assert.InRange(usage.Read().Cpu, 0, 0.01);
        }
        finally
        {
            Directory.Delete(root, recursive: true);
        }
    }

    [Fact]
    public void A_reading_leaves_next_to_nothing_behind()
    {
        var usage = new ContainerUsage(TimeProvider.System);
        for (int i = 0; i < 100; i++)
        {
            usage.Read();
        }

        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 100; i++)
        {
            usage.Read();
        }

        // Handles of the files; lines of text as strings would be 20 KB a reading.
        Assert.InRange((GC.GetAllocatedBytesForCurrentThread() - before) / 100, 0, 2048);
    }

    private static void Write(string root, string path, string text)
    {
        string full = Path.Combine(root, path);
        Directory.CreateDirectory(Path.GetDirectoryName(full)!);
        File.WriteAllText(full, text);
    }
}
