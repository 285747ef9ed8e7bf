namespace Tunnel2.LoadTests.Scenarios;

/// <summary>Requests of one kind on one schedule. A scenario has one or several, which run at once.</summary>
/// <param name="Name">Unique in its scenario.</param>
/// <param name="Request">The request.</param>
/// <param name="Steps">The schedule, one step after another.</param>
internal sealed record TrafficFlow(string Name, RequestTemplate Request, IReadOnlyList<LoadStep> Steps)
{
    /// <summary>The most connections at a time; what finds none free waits, and its latency continues counting.</summary>
    public int MaxConnections { get; init; } = 256;

    /// <summary>A connection of its own for each request.</summary>
    public bool NewConnectionEach { get; init; }

    /// <summary>How fast the visitor reads, bytes a second; null: as fast as it can.</summary>
    public int? ReadBytesPerSecond { get; init; }

    /// <summary>From the intended start; what takes longer has failed.</summary>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Ends the flow at the end of the first step that was not held (see <see cref="Statistics.KneeFinder"/>).</summary>
    public bool StopAtKnee { get; init; }

    /// <summary>How long the schedule is.</summary>
    public TimeSpan Duration => Steps.Aggregate(TimeSpan.Zero, static (sum, step) => sum + step.Duration);

    /// <summary>Arrivals of the whole schedule.</summary>
    public long Arrivals => Steps.Sum(static step => step.Arrivals);
}
