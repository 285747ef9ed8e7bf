namespace Tunnel2.LoadTests.Scenarios;

/// <summary>
/// A stretch of a schedule: groups of arrivals at one instant, evenly spaced. A steady rate is groups of one; a burst is a group of many.
/// </summary>
/// <param name="GroupsPerSecond">Groups a second, &gt; 0.</param>
/// <param name="GroupSize">Arrivals at each instant, ≥ 1.</param>
/// <param name="Duration">How long, at full scale.</param>
internal sealed record LoadStep(double GroupsPerSecond, int GroupSize, TimeSpan Duration)
{
    /// <summary>Arrivals a second.</summary>
    public double Rate => GroupsPerSecond * GroupSize;

    /// <summary>Arrivals in all: at least one group, however short the step is.</summary>
    public long Arrivals => Math.Max(1, (long)Math.Round(GroupsPerSecond * Duration.TotalSeconds)) * GroupSize;

    /// <summary>A steady rate.</summary>
    public static LoadStep Steady(double perSecond, double seconds) => new(perSecond, 1, TimeSpan.FromSeconds(seconds));

    /// <summary>Bursts of <paramref name="size"/> arrivals at one instant.</summary>
    public static LoadStep Bursts(int size, double perSecond, double seconds) => new(perSecond, size, TimeSpan.FromSeconds(seconds));

    /// <summary>The same with its duration multiplied.</summary>
    public LoadStep Scale(double factor) => this with { Duration = Duration * factor };
}
