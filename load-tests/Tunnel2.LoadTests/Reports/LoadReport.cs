using System.Runtime.InteropServices;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Reports;

/// <summary>
/// Everything that is reported, in the form in which the JSON file has it. Times are milliseconds unless the name says otherwise.
/// </summary>
internal sealed record LoadReport
{
    /// <summary>The machine.</summary>
    public required MachineReport Machine { get; init; }

    /// <summary>The scenarios, in the order in which they were run.</summary>
    public required IReadOnlyList<ScenarioReport> Scenarios { get; init; }

    /// <summary>Makes it.</summary>
    public static LoadReport Of(IReadOnlyList<ScenarioResult> results) => new()
    {
        Machine = new MachineReport(
            Environment.ProcessorCount, RuntimeInformation.OSDescription, RuntimeInformation.FrameworkDescription,
            typeof(LoadReport).Assembly.GetName().Version?.ToString(3) ?? ""),
        Scenarios = [.. results.Select(ScenarioReport.Of)],
    };
}

/// <summary>Where it was measured.</summary>
internal sealed record MachineReport(int Processors, string System, string Runtime, string Version);

/// <summary>A judged rule.</summary>
internal sealed record RuleReport(string Rule, RuleVerdict Verdict, string Found);
