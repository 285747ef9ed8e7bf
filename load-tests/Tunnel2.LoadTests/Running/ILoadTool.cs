using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Running;

/// <summary>A load generator that is not ours, such as NBomber.</summary>
internal interface ILoadTool
{
    /// <summary>Runs all flows of a scenario at once, each to the end of its schedule, and leaves the tool's own report.</summary>
    /// <param name="run">What to run.</param>
    /// <returns>What came of each flow, by its name.</returns>
    Task<IReadOnlyDictionary<string, FlowFigures>> RunAsync(ToolRun run);
}

/// <summary>A run of a load tool.</summary>
/// <param name="Scenario">The scenario, or one step of it; already scaled.</param>
/// <param name="Name">What the report calls it.</param>
/// <param name="Target">Where the requests go.</param>
/// <param name="Folder">Where the tool's report goes; the tool makes it.</param>
/// <param name="WarmUp">How long each kind of request is sent before it counts; zero: not at all.</param>
internal sealed record ToolRun(LoadScenario Scenario, string Name, LoadTarget Target, string Folder, TimeSpan WarmUp);
