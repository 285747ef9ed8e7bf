using Tunnel2.LoadTests.Engine;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Running;

/// <summary>Runs scenarios one after another, each against a tunnel of its own, and reports how they go.</summary>
/// <param name="options">What was asked for.</param>
/// <param name="console">Where progress goes.</param>
internal sealed class ScenarioRunner(LoadOptions options, TextWriter console)
{
    private const double WarmUpRate = 200;

    private static readonly TimeSpan _progressInterval = TimeSpan.FromSeconds(1);

    // Tunnel2's and the ancestor's, each compared with its own.
    private readonly Dictionary<string, TimeSpan> _means = [];
    private readonly Dictionary<string, TimeSpan> _ancestorMeans = [];

    /// <summary>Runs one.</summary>
    /// <exception cref="LoadFailedException">It cannot begin.</exception>
    /// <exception cref="OperationCanceledException">It was stopped before it began.</exception>
    public async Task<ScenarioResult> RunAsync(LoadScenario scenario, CancellationToken cancellationToken)
    {
        var scaled = scenario.Scale(options.DurationScale);
        await console.WriteLineAsync($"{scaled.Title}: {scaled.Description}");
        await console.WriteLineAsync(Text.Line($"  {scaled.Arrivals:#,0} requests in {scaled.Duration.TotalSeconds:#,0.#} s"));
        await using var target = await LoadTargets.OpenAsync(scaled, options, cancellationToken);
        await WarmUpAsync(scaled, target, cancellationToken);
        var machine = MachineTime.Read();
        var before = ProcessFigures.ReadTimes(target);
        if (scaled.CutUplinkEvery is { } interval)
        {
            target.BeginCutting(interval);
        }

        // What the warm-up and the start left behind is not collected in the middle of the run.
        GC.Collect();
        var started = TimeProvider.System.GetUtcNow();
        var engine = new LoadEngine(scaled, target.EndPoint, target.Hosts);
        var running = engine.RunAsync(cancellationToken);
        var progress = new ProgressPrinter(scaled, console);
        using (var timer = new PeriodicTimer(_progressInterval))
        {
            while (!running.IsCompleted)
            {
                await Task.WhenAny(running, timer.WaitForNextTickAsync(CancellationToken.None).AsTask());
                progress.Print(engine.Timelines);
            }
        }

        var ended = await running;
        var processes = ProcessFigures.Since(before, target);
        var means = scaled.AsAncestor ? _ancestorMeans : _means;
        var result = new ScenarioResult(scaled, started, ended)
        {
            Processes = processes,
            OthersShare = machine.OthersShare(processes.Sum(static process => process.ProcessorSeconds)),
            Cuts = target.Cuts,
            EarlierMeans = new Dictionary<string, TimeSpan>(means),
        };
        if (result.LatenciesCount && ended.Flows[0].Total.Ok > 0)
        {
            means[scaled.Name] = ended.Flows[0].Total.Latency.MeanTime;
        }

        return result;
    }

    /// <summary>Each kind of request at a moderate rate, not counted: the programs compile what they run often.</summary>
    private async Task WarmUpAsync(LoadScenario scenario, LoadTarget target, CancellationToken cancellationToken)
    {
        var flows = scenario.Flows.Where(static flow => flow.ReadBytesPerSecond is null).ToArray();
        var warmUp = scenario with
        {
            Flows =
            [
                .. flows.Select(
                    flow =>
                        flow with
                        {
                            Steps = [LoadStep.Steady(Math.Min(WarmUpRate, flow.Steps[^1].Rate), options.WarmUp.TotalSeconds)],
                            StopAtKnee = false,
                        }),
            ],
        };
        var result = await new LoadEngine(warmUp, target.EndPoint, target.Hosts).RunAsync(cancellationToken);
        cancellationToken.ThrowIfCancellationRequested();
        if (result.Flows.FirstOrDefault(static flow => flow.Total.Ok == 0) is { } dead)
        {
            throw new LoadFailedException(
                $"{scenario.Title} was not begun: no '{dead.Flow.Name}' request ({dead.Flow.Request.Description}) to {target.EndPoint} "
                    + $"worked; {string.Join("; ", dead.Total.Failures.Samples)}");
        }
    }
}
