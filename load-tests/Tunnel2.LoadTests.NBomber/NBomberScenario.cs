using NBomber.Contracts;
using NBomber.CSharp;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.NBomber;

/// <summary>A flow of a scenario in NBomber's terms.</summary>
internal static class NBomberScenario
{
    /// <summary>NBomber refuses simulations that are shorter.</summary>
    private static readonly TimeSpan _shortest = TimeSpan.FromSeconds(1);

    /// <summary>Its name: unique in a run.</summary>
    public static string NameOf(string run, LoadScenario scenario, TrafficFlow flow) =>
        scenario.Flows.Count == 1 ? run : $"{run} {flow.Name}";

    /// <summary>Makes it.</summary>
    public static ScenarioProps Make(string run, LoadScenario scenario, TrafficFlow flow, VisitorClient client, TimeSpan warmUp)
    {
        var props = Scenario.Create(NameOf(run, scenario, flow), _ => client.SendAsync());
        return (warmUp == TimeSpan.Zero ? props.WithoutWarmUp() : props.WithWarmUpDuration(warmUp))
            .WithMaxFailCount(int.MaxValue)
            .WithLoadSimulations([.. flow.Steps.Select(ToSimulation)]);
    }

    private static LoadSimulation ToSimulation(LoadStep step)
    {
        // A rate below one a second becomes one at a longer interval; a burst is injected as a whole at each of its instants.
        var interval = step.GroupSize > 1 || step.GroupsPerSecond < 1
            ? TimeSpan.FromSeconds(1 / step.GroupsPerSecond)
            : TimeSpan.FromSeconds(1);
        var rate = Math.Max(1, (int)Math.Round(step.Rate * interval.TotalSeconds));
        var shortest = interval > _shortest ? interval : _shortest;
        return Simulation.Inject(rate: rate, interval: interval, during: step.Duration < shortest ? shortest : step.Duration);
    }
}
