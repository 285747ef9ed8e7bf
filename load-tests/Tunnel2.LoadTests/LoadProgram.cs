using System.Runtime.InteropServices;
using Tunnel2.LoadTests.Reports;
using Tunnel2.LoadTests.Running;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests;

/// <summary>The program, apart from its process.</summary>
internal static class LoadProgram
{
    private const int Passed = 0;
    private const int Failed = 1;
    private const int NotBegun = 2;
    private const int Interrupted = 130;

    /// <summary>Runs what the command line says.</summary>
    /// <param name="arguments">The command line.</param>
    /// <param name="output">Progress and results.</param>
    /// <param name="errors">Mistakes.</param>
    /// <param name="stop">Ends the run; what was done until then is reported.</param>
    /// <returns>The exit code.</returns>
    public static async Task<int> RunAsync(string[] arguments, TextWriter output, TextWriter errors, CancellationToken stop)
    {
        if (WhyNotOn(OperatingSystem.IsLinux(), RuntimeInformation.OSDescription) is { } why)
        {
            await errors.WriteLineAsync(why);
            return NotBegun;
        }

        var options = CommandLine.Parse(arguments, out var error);
        if (options is null)
        {
            await (error is null ? output : errors).WriteLineAsync(error ?? CommandLine.Usage);
            return error is null ? Passed : NotBegun;
        }

        try
        {
            var folder = ResultsFolder.Prepare(options.Results);
            return await RunAllAsync(options, folder, output, errors, stop);
        }
        catch (LoadFailedException e)
        {
            await errors.WriteLineAsync(e.Message);
            return NotBegun;
        }
    }

    /// <summary>Why the generator does not run on a system, in one line; null: it does.</summary>
    internal static string? WhyNotOn(bool isLinux, string system) => isLinux ? null
        : $"tunnel2-load runs on Linux only, and this is {system}: it keeps its schedule with epoll, ppoll and a real-time thread, and a "
            + "generator that is late measures itself. The same scenarios run through NBomber without them (docs/load-tests.md).";

    private static async Task<int> RunAllAsync(
        LoadOptions options, ResultsFolder folder, TextWriter output, TextWriter errors, CancellationToken stop)
    {
        var results = new List<ScenarioResult>();
        var runner = new ScenarioRunner(options, output);
        var couldNotBegin = false;
        var isReported = true;
        foreach (var scenario in Choose(options))
        {
            if (stop.IsCancellationRequested)
            {
                break;
            }

            try
            {
                var result = await CountedRun.RunAsync(() => runner.RunAsync(scenario, stop));
                results.Add(result);
                await output.WriteLineAsync(ConsoleSummary.Of(result));
            }
            catch (OperationCanceledException) when (stop.IsCancellationRequested)
            {
                break;
            }
            catch (LoadFailedException e) when (results.Count > 0)
            {
                // What was measured before is worth its report.
                await errors.WriteLineAsync(e.Message);
                couldNotBegin = true;
                break;
            }
        }

        if (results.Count > 0)
        {
            var mistakes = folder.Write(results);
            isReported = mistakes.Count == 0;
            await (isReported ? output : errors).WriteLineAsync(
                isReported ? $"Results: {folder.HtmlPath} (and .md, .json)" : string.Join('\n', mistakes));
        }

        return stop.IsCancellationRequested
            ? Interrupted
            : couldNotBegin
            ? NotBegun
            : isReported && results.All(static result => result.Passed || result.Scenario.AsAncestor)
            ? Passed
            : Failed;
    }

    /// <summary>A tunnel that runs elsewhere is not cut by 'all', and asked about several sessions only if it has some.</summary>
    internal static IEnumerable<LoadScenario> Choose(LoadOptions options) => ScenarioCatalog.Choose(options.Scenarios)
        .Where(scenario =>
            options.Target is null
                || options.Scenarios.Contains(scenario.Name)
                || (scenario.CutUplinkEvery is null && (scenario.Sessions == 1 || options.Hosts.Count > 1)))
        .SelectMany(scenario =>
            options.AsAncestor && scenario.SuitsAncestor
                ? new[] { scenario, scenario with { AsAncestor = true } }
                : [scenario]);
}
