using System.Globalization;

namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>How much of what the container may have it has, each 0 to 1 (or above, for a moment).</summary>
/// <param name="Memory">Memory without what the kernel can drop at once; sockets' buffers are in it where the kernel counts them.</param>
/// <param name="Cpu">Processor time since the reading before.</param>
internal readonly record struct ContainerReading(double Memory, double Cpu);

/// <summary>
/// Reads the limits and the use of the cgroup this process runs in, version 2 or 1; where a limit is missing, the machine's memory, and
/// this process's own processor time over all processors. One thread at a time.
/// </summary>
internal sealed class ContainerUsage
{
    private const long NoLimit = 1L << 60;

    private readonly string _proc;
    private readonly string? _memory;
    private readonly string? _cpu;
    private readonly bool _isVersion2;
    private readonly TimeProvider _time;
    private long _cpuBefore = -1;
    private long _cpuAt;

    /// <param name="time">The clock.</param>
    /// <param name="root">In place of <c>/</c>, for tests.</param>
    internal ContainerUsage(TimeProvider time, string root = "/")
    {
        _time = time;
        _proc = Path.Combine(root, "proc");
        string cgroups = Path.Combine(root, "sys/fs/cgroup");
        string[] own = ReadLines(Path.Combine(_proc, "self/cgroup"));
        _isVersion2 = File.Exists(Path.Combine(cgroups, "cgroup.controllers"));
        _memory = _isVersion2 ? Folder(cgroups, own, "", "memory.current") : Folder(Path.Combine(cgroups, "memory"), own, "memory", "memory.usage_in_bytes");
        _cpu = _isVersion2 ? Folder(cgroups, own, "", "cpu.stat") : Folder(Path.Combine(cgroups, "cpu"), own, "cpu", "cpu.cfs_quota_us");
        CpuAccounting = _isVersion2 ? _cpu : Folder(Path.Combine(cgroups, "cpuacct"), own, "cpuacct", "cpuacct.usage");
    }

    private string? CpuAccounting { get; }

    /// <summary>Reads once.</summary>
    internal ContainerReading Read() => new(ReadMemory(), ReadCpu());

    private double ReadMemory()
    {
        if (_memory is not null)
        {
            long limit = ReadNumber(Path.Combine(_memory, _isVersion2 ? "memory.max" : "memory.limit_in_bytes"), NoLimit);
            if (limit < NoLimit)
            {
                long used = ReadNumber(Path.Combine(_memory, _isVersion2 ? "memory.current" : "memory.usage_in_bytes"), 0);
                long droppable = ReadField(Path.Combine(_memory, "memory.stat"), _isVersion2 ? "inactive_file" : "total_inactive_file");
                return Math.Max(0, used - Math.Max(0, droppable)) / (double)limit;
            }
        }

        string machine = Path.Combine(_proc, "meminfo");
        long total = ReadField(machine, "MemTotal:");
        return total <= 0 ? 0 : 1 - (Math.Max(0, ReadField(machine, "MemAvailable:")) / (double)total);
    }

    private double ReadCpu()
    {
        double processors = Environment.ProcessorCount;
        bool limited = TryReadQuota(out double quota);
        long used = limited && CpuAccounting is not null ? ReadCgroupCpu() : (long)Environment.CpuUsage.TotalTime.TotalMicroseconds;
        long now = _time.GetTimestamp();
        double share = 0;
        if (_cpuBefore >= 0 && now > _cpuAt)
        {
            share = (used - _cpuBefore) / _time.GetElapsedTime(_cpuAt, now).TotalMicroseconds / (limited ? Math.Min(quota, processors) : processors);
        }

        (_cpuBefore, _cpuAt) = (used, now);
        return Math.Max(0, share);
    }

    private long ReadCgroupCpu() => _isVersion2
        ? Math.Max(0, ReadField(Path.Combine(CpuAccounting!, "cpu.stat"), "usage_usec"))
        : ReadNumber(Path.Combine(CpuAccounting!, "cpuacct.usage"), 0) / 1000;

    private bool TryReadQuota(out double processors)
    {
        processors = 0;
        if (_cpu is null)
        {
            return false;
        }

        long quota;
        long period;
        if (_isVersion2)
        {
            string[] words = ReadLines(Path.Combine(_cpu, "cpu.max")).FirstOrDefault()?.Split(' ') ?? [];
            if (words.Length != 2 || !TryParse(words[0], out quota) || !TryParse(words[1], out period))
            {
                return false;
            }
        }
        else
        {
            quota = ReadNumber(Path.Combine(_cpu, "cpu.cfs_quota_us"), -1);
            period = ReadNumber(Path.Combine(_cpu, "cpu.cfs_period_us"), -1);
        }

        processors = quota / (double)period;
        return quota > 0 && period > 0;
    }

    /// <summary>The folder of this process's own group, or the mount's root, as it is seen inside a container.</summary>
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

    private static long ReadField(string path, string name)
    {
        foreach (string line in ReadLines(path))
        {
            string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (words.Length >= 2 && words[0] == name && TryParse(words[1], out long value))
            {
                return words.Length > 2 && words[2] == "kB" ? value * 1024 : value;
            }
        }

        return -1;
    }

    private static long ReadNumber(string path, long missing) =>
        ReadLines(path) is [var line, ..] && TryParse(line.Trim(), out long value) ? value : missing;

    private static bool TryParse(string text, out long value) =>
        long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value);

    private static string[] ReadLines(string path)
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
