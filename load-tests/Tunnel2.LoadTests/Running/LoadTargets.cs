using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Running;

/// <summary>Finds or starts what a scenario runs against.</summary>
internal static class LoadTargets
{
    /// <summary>Opens it; a request would work when the task ends.</summary>
    /// <exception cref="LoadFailedException">The scenario cannot run there, or something did not start.</exception>
    public static async Task<LoadTarget> OpenAsync(LoadScenario scenario, LoadOptions options, CancellationToken cancellationToken)
    {
        if (options.Target is not { } target)
        {
            return await StartedTunnel.StartAsync(scenario, cancellationToken);
        }

        if (scenario.CutUplinkEvery is not null)
        {
            throw new LoadFailedException($"{scenario.Name} cuts connections of a tunnel that it starts itself: leave out --url.");
        }

        if (scenario.Sessions > 1 && options.Hosts.Count < 2)
        {
            throw new LoadFailedException($"{scenario.Name} is about several sessions: give --host for each of them.");
        }

        return new RunningTarget(target, scenario.Sessions > 1 ? options.Hosts : [options.Hosts[0]]);
    }
}
