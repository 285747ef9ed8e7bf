using System.Buffers.Text;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>The use of the container's limits, each 0 to 1 (or above, for a moment), and how many threads this process has.</summary>
/// <param name="Memory">
/// Memory without the part that the kernel can drop at once; sockets' buffers are included if the kernel counts them.
/// </param>
/// <param name="Cpu">Processor time since the previous reading.</param>
/// <param name="Threads">Threads of this process; where the system does not say, those of the pool.</param>
internal readonly record struct ContainerReading(double Memory, double Cpu, int Threads = 0);

/// <summary>
/// Reads the limits and the use of this process's cgroup, version 2 or 1. If a limit is missing, it uses the machine's memory, and this
/// process's own processor time over all processors. One thread at a time.
/// </summary>
internal sealed class ContainerUsage
{
    private const long NoLimit = 1L << 60;
    private const int LongestFile = 16_384;

    private readonly byte[] _buffer = new byte[LongestFile];
    private readonly KernelFile _machine;
    private readonly KernelFile _process;
    private readonly KernelFile? _memoryLimit;
    private readonly KernelFile? _memoryUsed;
    private readonly KernelFile? _memoryParts;
    private readonly KernelFile? _quota;
    private readonly KernelFile? _period;
    private readonly KernelFile? _cpuUsed;
    private readonly bool _isVersion2;
    private readonly TimeProvider _time;
    private long _cpuBefore = -1;
    private long _cpuAt;

    /// <param name="time">The clock.</param>
    /// <param name="root">The root instead of <c>/</c>, for tests.</param>
    internal ContainerUsage(TimeProvider time, string root = "/")
    {
        _time = time;
        string proc = Path.Combine(root, "proc");
        _machine = In(proc, "meminfo")!;
        _process = In(proc, "self/status")!;
        string cgroups = Path.Combine(root, "sys/fs/cgroup");
        string[] own = ReadOwnGroups(Path.Combine(proc, "self/cgroup"));
        _isVersion2 = File.Exists(Path.Combine(cgroups, "cgroup.controllers"));
        if (_isVersion2)
        {
            string? memory = Folder(cgroups, own, "", "memory.current");
            (_memoryLimit, _memoryUsed, _memoryParts) = (In(memory, "memory.max"), In(memory, "memory.current"), In(memory, "memory.stat"));
            string? cpu = Folder(cgroups, own, "", "cpu.stat");
            (_quota, _cpuUsed) = (In(cpu, "cpu.max"), In(cpu, "cpu.stat"));
        }
        else
        {
            string? memory = Folder(Path.Combine(cgroups, "memory"), own, "memory", "memory.usage_in_bytes");
            (_memoryLimit, _memoryUsed, _memoryParts) = (
                In(memory, "memory.limit_in_bytes"), In(memory, "memory.usage_in_bytes"), In(memory, "memory.stat"));
            string? cpu = Folder(Path.Combine(cgroups, "cpu"), own, "cpu", "cpu.cfs_quota_us");
            (_quota, _period) = (In(cpu, "cpu.cfs_quota_us"), In(cpu, "cpu.cfs_period_us"));
            _cpuUsed = In(Folder(Path.Combine(cgroups, "cpuacct"), own, "cpuacct", "cpuacct.usage"), "cpuacct.usage");
        }
    }

    /// <summary>Makes a reading.</summary>
    internal ContainerReading Read() => new(ReadMemory(), ReadCpu(), ReadThreads());

    private int ReadThreads() =>
        KernelFile.Field(_process.Read(), "Threads:"u8) is >= 0 and var threads ? (int)threads : ThreadPool.ThreadCount;

    private double ReadMemory()
    {
        long limit = _memoryLimit?.ReadNumber(NoLimit) ?? NoLimit;
        if (limit < NoLimit)
        {
            long used = _memoryUsed!.ReadNumber(0);
            long droppable = KernelFile.Field(_memoryParts!.Read(), _isVersion2 ? "inactive_file"u8 : "total_inactive_file"u8);
            return Math.Max(0, used - Math.Max(0, droppable)) / (double)limit;
        }

        ReadOnlySpan<byte> machine = _machine.Read();
        long total = KernelFile.Field(machine, "MemTotal:"u8);
        return total <= 0 ? 0 : 1 - (Math.Max(0, KernelFile.Field(machine, "MemAvailable:"u8)) / (double)total);
    }

    private double ReadCpu()
    {
        double processors = Environment.ProcessorCount;
        bool limited = TryReadQuota(out double quota);
        long used = limited && _cpuUsed is not null ? ReadCgroupCpu(_cpuUsed) : (long)Environment.CpuUsage.TotalTime.TotalMicroseconds;
        long now = _time.GetTimestamp();
        double share = 0;
        if (_cpuBefore >= 0 && now > _cpuAt)
        {
            share = (used - _cpuBefore) / _time.GetElapsedTime(_cpuAt, now).TotalMicroseconds
                / (limited ? Math.Min(quota, processors) : processors);
        }

        (_cpuBefore, _cpuAt) = (used, now);
        return Math.Max(0, share);
    }

    private long ReadCgroupCpu(KernelFile file) => _isVersion2
        ? Math.Max(0, KernelFile.Field(file.Read(), "usage_usec"u8))
        : file.ReadNumber(0) / 1000;

    private bool TryReadQuota(out double processors)
    {
        processors = 0;
        if (_quota is null)
        {
            return false;
        }

        ReadOnlySpan<byte> text = _quota.Read();
        if (!Utf8Parser.TryParse(text, out long quota, out int digits))
        {
            return false; // Also for "max".
        }

        long period = _period is not null ? _period.ReadNumber(-1)
            : Utf8Parser.TryParse(text[digits..].TrimStart((byte)' '), out long second, out _) ? second
            : -1;
        processors = quota / (double)period;
        return quota > 0 && period > 0;
    }

    private KernelFile? In(string? folder, string name) => folder is null ? null : new KernelFile(Path.Combine(folder, name), _buffer);

    /// <summary>The folder of this process's own group, or the mount's root, as inside a container.</summary>
    private static string? Folder(string mount, string[] own, string controller, string probe)
    {
        foreach (string line in own)
        {
            string[] parts = line.Split(':', 3);
            if (parts.Length == 3 && parts[1].Split(',').Contains(controller, StringComparer.Ordinal)
                && Path.Join(mount, parts[2]) is var folder && File.Exists(Path.Combine(folder, probe)))
            {
                return folder;
            }
        }

        return File.Exists(Path.Combine(mount, probe)) ? mount : null;
    }

    private static string[] ReadOwnGroups(string path)
    {
        try
        {
            return File.ReadAllLines(path);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }
}
