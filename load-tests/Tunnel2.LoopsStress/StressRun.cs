using System.Diagnostics;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoopsStress;

/// <summary>A run: visitors alone, rest, visitors while everything happens, rest; and what must not be different then.</summary>
internal static class StressRun
{
    private const int PlainVisitors = 12;
    private const int TlsVisitors = 6;
    private const int Http2Visitors = 4;
    private const int WebSocketVisitors = 6;

    private static readonly TimeSpan _warmUp = TimeSpan.FromSeconds(6);

    /// <summary>The thread pool ends threads that have had nothing to do for 20 s.</summary>
    private static readonly TimeSpan _rest = TimeSpan.FromSeconds(25);

    private static readonly TimeSpan _restLimit = TimeSpan.FromSeconds(90);

    /// <returns>Whether everything was right.</returns>
    public static async Task<bool> RunAsync(TimeSpan length, int seed)
    {
        var tally = new Tally();
        await using var tunnel = await StressTunnel.StartAsync(tally);
        using var admin = new HttpClient();
        await VisitAsync(tunnel, tally, seed ^ 1, _warmUp);
        await Task.Delay(_rest);
        var start = await Footprint.ReadAsync(tunnel, admin);
        Console.WriteLine($"At the start:\n{start}");

        using var over = new CancellationTokenSource();
        var happening = HappenAsync(tunnel, tally, new Random(seed), over.Token);
        await VisitAsync(tunnel, tally, seed, length);
        await over.CancelAsync();
        await happening;
        Console.WriteLine($"What happened:\n{tally}");

        var kinds = new[] { "HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2 over TLS", "WebSocket" };
        var problems = new List<string>(tally.Wrongs);
        problems.AddRange(kinds.Where(kind => tally.RightOnes(kind) < 10).Select(static kind => $"{kind}: hardly any right answer"));
        problems.AddRange(await RestAsync(tunnel, start, admin));
        problems.AddRange(tunnel.Lasting.Where(static one => one.Process.HasExited).Select(static one => $"{one.Name} has ended"));
        problems.AddRange(tunnel.Entry.Lines.Where(IsFailure).Take(10));
        problems.ForEach(static problem => Console.WriteLine($"FAILED: {problem}"));
        Console.WriteLine(
            problems.Count == 0 ? "Everything was right, and nothing is left." : $"{problems.Count} problems; the seed was {seed}.");
        return problems.Count == 0;
    }

    private static bool IsFailure(string line) =>
        line.Contains(" fail: ", StringComparison.Ordinal) || line.Contains(" crit: ", StringComparison.Ordinal);

    private static async Task VisitAsync(StressTunnel tunnel, Tally tally, int seed, TimeSpan length)
    {
        using var stop = new CancellationTokenSource(length);
        var number = seed;
        Visitor[] visitors =
        [
            .. Enumerable.Range(0, PlainVisitors).Select(_ => new Http1Visitor(isTls: false, ++number, tunnel, tally)),
            .. Enumerable.Range(0, TlsVisitors).Select(_ => new Http1Visitor(isTls: true, ++number, tunnel, tally)),
            .. Enumerable.Range(0, Http2Visitors).Select(_ => new Http2Visitor(++number, tunnel, tally)),
            .. Enumerable.Range(0, WebSocketVisitors).Select(_ => new WebSocketVisitor(++number, tunnel, tally)),
        ];
        await Task.WhenAll(visitors.Select(visitor => Task.Run(() => visitor.RunAsync(stop.Token), CancellationToken.None)));
    }

    /// <summary>Uplinks are lost and held up; agents are replaced, stopped and killed.</summary>
    private static async Task HappenAsync(StressTunnel tunnel, Tally tally, Random random, CancellationToken stop)
    {
        try
        {
            while (true)
            {
                await Task.Delay(random.Next(100, 2_500), stop);
                switch (random.Next(10))
                {
                    case < 2:
                        tally.Count("- uplink reset");
                        tunnel.CutUplink(random, CutMode.Reset);
                        break;
                    case < 4:
                        tally.Count("- uplink ended");
                        tunnel.CutUplink(random, CutMode.Fin);
                        break;
                    case < 7:
                        tally.Count("- uplink held up");
                        await tunnel.HoldUplinkAsync(random);
                        break;
                    case 7:
                        tally.Count("- name taken over");
                        await tunnel.TakeOverAsync(random);
                        break;
                    case 8:
                        tally.Count("- agent stopped and started");
                        await tunnel.DrainAgentAsync(random);
                        break;
                    default:
                        tally.Count("- agent killed and started");
                        await tunnel.KillAgentAsync(random);
                        break;
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The run is over.
        }
        catch (Exception exception) when (exception is TimeoutException or InvalidOperationException)
        {
            tally.Wrong($"An agent does not do what it was asked: {exception.Message}");
        }
    }

    /// <summary>Waits until what was held is given back.</summary>
    /// <returns>What was not.</returns>
    private static async Task<string[]> RestAsync(StressTunnel tunnel, Footprint start, HttpClient admin)
    {
        var began = Stopwatch.GetTimestamp();
        while (true)
        {
            var now = await Footprint.ReadAsync(tunnel, admin);
            var beyond = now.Beyond(start).ToArray();
            if (beyond.Length == 0 || Stopwatch.GetElapsedTime(began) > _restLimit)
            {
                Console.WriteLine($"{Stopwatch.GetElapsedTime(began).TotalSeconds:F0} s behind the end:\n{now}");
                var (moves, crossings) = (now.Moves - start.Moves, now.Crossings - start.Crossings);
                Console.WriteLine($"{moves:N0} times a connection moved to another loop, {crossings:N0} streams crossed.");
                return moves > 100 && crossings > 100 ? beyond : [.. beyond, "hardly anything moved between the loops"];
            }

            await Task.Delay(500);
        }
    }
}
