namespace Tunnel2.LoadTests.Scenarios;

/// <summary>Every scenario there is.</summary>
internal static class ScenarioCatalog
{
    private const int Kilobyte = 1024;
    private const int Megabyte = 1024 * 1024;

    /// <summary>What is typed for the scenarios of the acceptance.</summary>
    public const string Acceptance = "acceptance";

    /// <summary>What is typed for every scenario that is about the tunnel.</summary>
    public const string Everything = "all";

    private static readonly OkShareRule _allOk = new(1);

    // What the tunnel was promised to do: no failure, and no wait that a person notices.
    private static readonly FlowLatencyRule _accepted = new("requests", TimeSpan.FromMilliseconds(50));

    // What the ancestor's own load tests reported; its rates went up to 1000 a second too.
    private static readonly TimeSpan _ancestorAtThousand = TimeSpan.FromSeconds(9.4);
    private static readonly TimeSpan _ancestorAtTen = TimeSpan.FromMilliseconds(43);
    private static readonly TimeSpan _ancestorAtFifty = TimeSpan.FromMilliseconds(193);

    /// <summary>All, in the order in which they are listed.</summary>
    public static IReadOnlyList<LoadScenario> All { get; } =
    [
        Single(
            "baseline",
            "10 small downloads a second for two minutes: what an idle tunnel feels like.",
            Download(Kilobyte),
            [_allOk],
            LoadStep.Steady(10, 120)),
        Single("post-1kb", "100 posts of 1 KiB a second; each comes back.", Echo(Kilobyte), [_allOk], LoadStep.Steady(100, 60)),
        Single("post-10kb", "100 posts of 10 KiB a second; each comes back.", Echo(10 * Kilobyte), [_allOk], LoadStep.Steady(100, 60)),
        Single("post-100kb", "50 posts of 100 KiB a second; each comes back.", Echo(100 * Kilobyte), [_allOk], LoadStep.Steady(50, 60)),
        Single("ramp", "10, 50, 100, 200 and 500 a second, 30 s each.", Download(Kilobyte), [_allOk], Stairs(30, 10, 50, 100, 200, 500)),
        Single(
            "aggressive",
            "20, 50, 100, 200, 500 and 1000 a second, 30 s each: 56,100 requests, none may fail.",
            Download(Kilobyte),
            [_allOk, _accepted],
            Stairs(30, 20, 50, 100, 200, 500, 1000))
            with { AncestorMean = _ancestorAtThousand },
        Single(
            "max-throughput", "500 to 3000 a second in six steps of a minute.", Download(Kilobyte), [new OkShareRule(0.99)],
            Stairs(60, 500, 1000, 1500, 2000, 2500, 3000)),
        Ultra(),
        Single(
            "sustained", "100, 200, 400, 600 and 800 a second, two minutes each.", Download(Kilobyte), [_allOk],
            Stairs(120, 100, 200, 400, 600, 800)),
        Single("steady-200", "200 a second in one session for a minute.", Download(Kilobyte), [_allOk], LoadStep.Steady(200, 60)),
        Single(
            "steady-1000",
            "1000 a second in one session for a minute: 60,000 requests, none may fail.",
            Download(Kilobyte),
            [_allOk, _accepted],
            LoadStep.Steady(1000, 60))
            with { AncestorMean = _ancestorAtThousand },
        Concurrent(10, [_allOk, _accepted]) with { AncestorMean = _ancestorAtTen },
        Concurrent(50, [_allOk, _accepted]) with { AncestorMean = _ancestorAtFifty, ComparedWith = "concurrent-10" },
        Concurrent(1000, [_allOk]),
        InFlight(10, [_allOk, _accepted]) with { AncestorMean = _ancestorAtTen },
        InFlight(50, [_allOk, _accepted, new LatencyGrowthRule("requests", "in-flight-10", 2)])
            with { AncestorMean = _ancestorAtFifty, ComparedWith = "in-flight-10" },
        Single(
            "spread-40",
            "1000 a second over 40 sessions: none may suffer for the others.",
            Download(Kilobyte),
            [_allOk, _accepted, new SessionSpreadRule(2)],
            LoadStep.Steady(1000, 60))
            with { Sessions = 40, AncestorMean = _ancestorAtThousand },
        Churn(),
        SlowReaders(),
        Single(
            "uplink-loss",
            "200 a second while one of two connections between agent and ProxyEntry is cut every 5 s.",
            Download(Kilobyte),
            [new OkShareRule(0.98)],
            LoadStep.Steady(200, 60))
            with { CutUplinkEvery = TimeSpan.FromSeconds(5), Uplinks = 2 },
        Mixed(),
        Single(
            "schedule",
            "20,000 a second straight to the backend: checks the generator, not the tunnel.",
            Download(Kilobyte),
            [_allOk, new LagRule(TimeSpan.FromMilliseconds(1))],
            LoadStep.Steady(20_000, 20))
            with { Direct = true },
    ];

    /// <summary>Finds a scenario by its name; null: there is none.</summary>
    public static LoadScenario? Find(string name) =>
        All.FirstOrDefault(scenario => string.Equals(scenario.Name, name, StringComparison.OrdinalIgnoreCase));

    /// <summary>Whether scenarios can be chosen by this name.</summary>
    public static bool IsName(string name) => name is Everything or Acceptance || Find(name) is not null;

    /// <summary>
    /// The scenarios of these names, each once; <see cref="Everything"/> is every one that is about the tunnel,
    /// <see cref="Acceptance"/> those with a figure of the ancestor. What a scenario is compared with comes before it.
    /// </summary>
    public static IEnumerable<LoadScenario> Choose(IEnumerable<string> names) => names
        .SelectMany(static name => name switch
        {
            Everything => All.Where(static scenario => !scenario.Direct),
            Acceptance => All.Where(static scenario => scenario.AncestorMean is not null),
            _ => [Find(name)!],
        })
        .SelectMany(static scenario => scenario.ComparedWith is { } before ? new[] { Find(before)!, scenario } : [scenario])
        .Distinct();

    private static LoadScenario Ultra() => new(
        "ultra", "1000 to 50,000 a second in steps of 10 s, until one is not held: finds the knee.",
        [
            new TrafficFlow(
                "requests",
                Download(Kilobyte),
                Stairs(
                    10, 1000, 2000, 3000, 4000, 6000, 8000, 10_000, 12_500, 15_000, 20_000, 30_000, 40_000, 50_000)) { StopAtKnee = true },
        ],
        [new KneeRule(1000)]);

    private static LoadScenario Concurrent(int count, PassRule[] rules) => new(
        $"concurrent-{count}", $"{count} requests at one instant, once a second for 30 s, in one session.",
        [new TrafficFlow("requests", Download(Kilobyte), [LoadStep.Bursts(count, 1, 30)]) { MaxConnections = count }],
        rules);

    // Answers that come at once are hardly concurrent: the first is there before the last request is sent. These all wait at the same time,
    // so that a tunnel in which one waits for another shows it.
    private static LoadScenario InFlight(int count, PassRule[] rules) => new(
        $"in-flight-{count}", $"{count} answers that take 20 ms each, all under way at once, once a second for 30 s, in one session.",
        [
            new TrafficFlow(
                "requests",
                new RequestTemplate(RequestKind.Events, 2) { Interval = TimeSpan.FromMilliseconds(20) },
                [LoadStep.Bursts(count, 1, 30)])
            { MaxConnections = count },
        ],
        rules);

    private static LoadScenario Churn() => new(
        "churn", "200 a second, each on a connection of its own.",
        [new TrafficFlow("requests", Download(Kilobyte), [LoadStep.Steady(200, 60)]) { NewConnectionEach = true }],
        [_allOk]);

    private static LoadScenario SlowReaders() => new(
        "slow-readers", "One download of 1 MiB a second that is read at 128 KiB/s, beside 100 small ones a second that must not notice.",
        [
            new TrafficFlow("small", Download(Kilobyte), [LoadStep.Steady(100, 60)]),
            new TrafficFlow("slow", Download(Megabyte), [LoadStep.Steady(1, 60)])
            {
                ReadBytesPerSecond = 128 * Kilobyte,
                Timeout = TimeSpan.FromSeconds(30),
            },
        ],
        [_allOk, new FlowLatencyRule("small", TimeSpan.FromMilliseconds(50))]);

    private static LoadScenario Mixed() => new(
        "mixed", "Small requests, bulk downloads, server-sent events and WebSockets at once.",
        [
            new TrafficFlow("small", Download(Kilobyte), [LoadStep.Steady(200, 60)]),
            new TrafficFlow("bulk", Download(10 * Megabyte), [LoadStep.Steady(2, 60)]) { Timeout = TimeSpan.FromSeconds(30) },
            new TrafficFlow(
                "events", new RequestTemplate(RequestKind.Events, 20), [LoadStep.Steady(2, 60)]) { Timeout = TimeSpan.FromSeconds(30) },
            new TrafficFlow("websockets", new RequestTemplate(RequestKind.WebSocket, 10), [LoadStep.Steady(5, 60)]),
        ],
        [_allOk, new FlowLatencyRule("small", TimeSpan.FromMilliseconds(100))]);

    private static LoadScenario Single(
        string name, string description, RequestTemplate request, PassRule[] rules, params LoadStep[] steps) =>
        new(name, description, [new TrafficFlow("requests", request, steps)], rules);

    private static RequestTemplate Download(int bytes) => new(RequestKind.Download, bytes);

    private static RequestTemplate Echo(int bytes) => new(RequestKind.Echo, bytes);

    private static LoadStep[] Stairs(double seconds, params double[] rates) => [.. rates.Select(rate => LoadStep.Steady(rate, seconds))];
}
