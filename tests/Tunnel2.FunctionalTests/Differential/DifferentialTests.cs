using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Differential;

/// <summary>
/// Generated exchanges, each sent to the service itself and through the tunnel: all that both sides see is the same, except what a row of
/// <see cref="Difference"/> names. A failure names the seed.
/// </summary>
public sealed class DifferentialTests
{
    private const int Exchanges = 500;

    public static TheoryData<string> Pairs => [.. Pair.All.Select(static pair => pair.ToString())];

    [Theory]
    [MemberData(nameof(Pairs))]
    public Task What_crosses_the_tunnel_is_what_was_sent(string name) => SeededRandom.RunAsync(async random =>
    {
        var pair = Pair.Of(name);
        var generator = new ExchangeGenerator(random, pair);
        var plan = Enumerable.Range(0, Exchanges).Select(generator.Next).ToArray();
        var direct = await Twice.DirectAsync(pair, plan);
        var through = await Twice.ThroughAsync(pair, plan);
        foreach (var exchange in plan)
        {
            AssertSame(pair, exchange, "response", direct[exchange.Number].Response, through[exchange.Number].Response);
            if (!exchange.IsAnsweredEarly)
            {
                AssertSame(pair, exchange, "request", direct[exchange.Number].Request!, through[exchange.Number].Request!);
            }
        }
    });

    private static void AssertSame(Pair pair, PlannedExchange exchange, string what, SeenMessage direct, SeenMessage through)
    {
        var (expected, actual) = Difference.Compare(pair, direct, through);
        Assert.True(
            expected.SequenceEqual(actual),
            $"{pair}, {exchange}: the {what} differs.\nwithout the tunnel\n{Lines(expected.Except(actual))}\nthrough it\n"
                + $"{Lines(actual.Except(expected))}\nin whole\n{Lines(expected)}\n{Lines(actual)}");

        static string Lines(IEnumerable<string> lines) => string.Join("\n", lines.Select(static line => $"  {line}"));
    }
}
