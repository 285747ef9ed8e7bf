using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Running;

/// <summary>What a program used in the course of a run.</summary>
/// <param name="Name">What it is.</param>
/// <param name="ProcessorSeconds">User and kernel time.</param>
/// <param name="ResidentMegabytes">Resident memory at the end.</param>
internal sealed record ProcessFigures(string Name, double ProcessorSeconds, double ResidentMegabytes)
{
    private const string Generator = "generator";
    private const double Megabyte = 1024 * 1024;

    /// <summary>The processor time of each program so far, this one included.</summary>
    public static IReadOnlyDictionary<string, TimeSpan> ReadTimes(LoadTarget target) =>
        target.Processes
            .Select(
                static item => KeyValuePair.Create(item.Name, item.Process.HasExited ? TimeSpan.Zero : item.Process.ReadProcessorTime()))
            .Append(KeyValuePair.Create(Generator, Environment.CpuUsage.TotalTime))
            .ToDictionary();

    /// <summary>Reads what was used since.</summary>
    public static IReadOnlyList<ProcessFigures> Since(IReadOnlyDictionary<string, TimeSpan> before, LoadTarget target) =>
        [
            .. target.Processes.Where(static item => !item.Process.HasExited).Select(
                item => From(item.Name, item.Process, before[item.Name])),
            new ProcessFigures(
                Generator, (Environment.CpuUsage.TotalTime - before[Generator]).TotalSeconds, Environment.WorkingSet / Megabyte),
        ];

    private static ProcessFigures From(string name, ProcessRunner process, TimeSpan before) =>
        new(name, (process.ReadProcessorTime() - before).TotalSeconds, process.ReadResidentBytes() / Megabyte);
}
