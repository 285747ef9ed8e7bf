using System.Globalization;
using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.Programs.Tests.Restarts;

/// <summary>What a run of steady visitors came to.</summary>
internal static class SteadyReport
{
    /// <summary>
    /// Fails the test with the kinds of problems; requests that no listener took are passed over where an outage explains it.
    /// </summary>
    public static void AssertNoneFailed(IReadOnlyList<SteadyResult> results, params IReadOnlyList<Outage> outages)
    {
        var problems = results.Where(result => result.Problem is not null && !outages.Any(outage => outage.Explains(result))).ToList();
        Assert.True(
            problems.Count == 0,
            $"{problems.Count} of {results.Count} failed:\n" + string.Join('\n', problems.Take(20).Select(static problem =>
                string.Create(
                    CultureInfo.InvariantCulture,
                    $"at {problem.Started.TotalSeconds:0.000} s after {problem.Took.TotalMilliseconds:0} ms: {problem.Problem}"))));
    }

    /// <summary>Writes how many there were and how long they took.</summary>
    public static void Write(string what, IReadOnlyList<SteadyResult> results)
    {
        var took = results.Where(static result => result.Problem is null)
            .Select(static result => result.Took.TotalMilliseconds)
            .Order()
            .ToList();
        var refused = results.Count(static result => result.Problem == SteadyResult.Refused);
        var crossed = results.Count(static result => result.Problem == SteadyResult.Crossed);
        WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{what}: {results.Count} requests, {took.Count} whole, {results.Count - took.Count - refused - crossed} failed, {refused} "
                + $"refused by the system, {crossed} crossed the end of an idle connection; took p50 {At(took, 0.5):0} ms, p99 "
                + $"{At(took, 0.99):0} ms, most {At(took, 1):0} ms"));
    }

    /// <summary>Writes a line of figures.</summary>
    public static void WriteLine(string line) => TestContext.Current.TestOutputHelper?.WriteLine(line);

    private static double At(List<double> sorted, double part) => sorted.Count == 0 ? 0 : sorted[(int)((sorted.Count - 1) * part)];
}
