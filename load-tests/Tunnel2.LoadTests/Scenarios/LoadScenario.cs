namespace Tunnel2.LoadTests.Scenarios;

/// <summary>One load run as data: who runs it (the engine here, or another) decides how.</summary>
/// <param name="Name">What is typed to run it.</param>
/// <param name="Description">One sentence.</param>
/// <param name="Flows">Its requests and schedules.</param>
/// <param name="Rules">What must hold for it to pass.</param>
internal sealed record LoadScenario(string Name, string Description, IReadOnlyList<TrafficFlow> Flows, IReadOnlyList<PassRule> Rules)
{
    /// <summary>Tunnels that the requests are spread over, in turn.</summary>
    public int Sessions { get; init; } = 1;

    /// <summary>How often one of the connections between agent and ProxyEntry is cut; null: never.</summary>
    public TimeSpan? CutUplinkEvery { get; init; }

    /// <summary>Connections between agent and ProxyEntry; null: what the agent does by default.</summary>
    public int? Uplinks { get; init; }

    /// <summary>Straight to the backend, without a tunnel.</summary>
    public bool Direct { get; init; }

    /// <summary>
    /// The mean latency that the system before this one reported for this load, on its machine. The report shows it beside ours.
    /// </summary>
    public TimeSpan? AncestorMean { get; init; }

    /// <summary>Through the ancestor's design, not through Tunnel2: for comparison, its rules decide nothing.</summary>
    public bool AsAncestor { get; init; }

    /// <summary>
    /// Whether the ancestor's design can run it: it carries requests and answers, but no upgraded connection, and it has one connection for
    /// each session.
    /// </summary>
    public bool SuitsAncestor =>
        !Direct && Uplinks is null && CutUplinkEvery is null && Flows.All(static flow => flow.Request.Kind != RequestKind.WebSocket);

    /// <summary>Its name in a report.</summary>
    public string Title => AsAncestor ? $"{Name}-as-ancestor" : Name;

    /// <summary>A smaller scenario whose mean the report compares this one's with; it runs before. Null: none.</summary>
    public string? ComparedWith { get; init; }

    /// <summary>How long its longest schedule is.</summary>
    public TimeSpan Duration => Flows.Max(static flow => flow.Duration);

    /// <summary>Arrivals of all flows.</summary>
    public long Arrivals => Flows.Sum(static flow => flow.Arrivals);

    /// <summary>The same with the duration of every step multiplied; rates and sizes stay.</summary>
    public LoadScenario Scale(double factor) => this with
    {
        Flows = [.. Flows.Select(flow => flow with { Steps = [.. flow.Steps.Select(step => step.Scale(factor))] })],
    };
}
