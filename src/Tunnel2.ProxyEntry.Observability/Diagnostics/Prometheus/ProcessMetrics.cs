using System.Diagnostics;
using System.IO.Enumeration;
using System.Reflection;

namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>
/// The few metrics that every Prometheus client library has under the same names, so that common dashboards work. Garbage collector and
/// thread pool are in .NET's meter <c>System.Runtime</c>.
/// </summary>
internal sealed class ProcessMetrics
{
    private static readonly EnumerationOptions _everything = new() { IgnoreInaccessible = false, AttributesToSkip = FileAttributes.None };

    private readonly double _startTime;
    private readonly string _buildLabels;

    public ProcessMetrics(TimeProvider time)
    {
        using var process = Process.GetCurrentProcess();
        var uptime = DateTime.UtcNow - process.StartTime.ToUniversalTime();
        _startTime = (time.GetUtcNow() - uptime).ToUnixTimeMilliseconds() / 1000.0;
        var version = typeof(ProcessMetrics).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion;
        _buildLabels = PrometheusText.RenderLabels(
        [
            new("version", version ?? "unknown"),
            new("runtime", Environment.Version.ToString()),
        ]);
    }

    /// <summary>Writes all families.</summary>
    public void Write(PrometheusText text)
    {
        text.WriteSingle(
            "process_cpu_seconds_total", PrometheusType.Counter, "Processor time used, in seconds.",
            Environment.CpuUsage.TotalTime.TotalSeconds);
        text.WriteSingle("process_resident_memory_bytes", PrometheusType.Gauge, "Memory held in RAM, in bytes.", Environment.WorkingSet);
        text.WriteSingle("process_start_time_seconds", PrometheusType.Gauge, "When the process started, in Unix time.", _startTime);
        if (OperatingSystem.IsLinux())
        {
            text.WriteSingle("process_open_fds", PrometheusType.Gauge, "Open file descriptors.", CountOpenDescriptors());
        }

        text.WriteSingle("tunnel2_build_info", PrometheusType.Gauge, "What is running; always 1.", 1, _buildLabels);
    }

    private static double CountOpenDescriptors()
    {
        try
        {
            // Counts without making names: with ten thousand connections each scrape would make as many strings.
            return new FileSystemEnumerable<bool>("/proc/self/fd", static (ref FileSystemEntry _) => true, _everything).Count();
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return double.NaN;
        }
    }
}
