namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>What one index did in one run.</summary>
internal sealed record IndexFigures
{
    /// <summary>Gets the time of one of the joins that built the index up, on average.</summary>
    public double AddNanoseconds { get; init; }

    /// <summary>Gets the time of a lookup without a walk.</summary>
    public double GetNanoseconds { get; init; }

    /// <summary>Gets what a lookup allocates.</summary>
    public long GetBytes { get; init; }

    /// <summary>Gets the time of lookup and walk, per subscriber found.</summary>
    public double WalkNanoseconds { get; init; }

    /// <summary>Gets how long each removal took beside the publisher, in microseconds, ascending.</summary>
    public required double[] Removals { get; init; }

    /// <summary>Gets how many subscribers the publisher visited in a second beside the removals.</summary>
    public double DeliveriesPerSecond { get; init; }

    /// <summary>Reads a quantile of <see cref="Removals"/>.</summary>
    public double At(double quantile) => Removals[(int)Math.Min(Removals.Length - 1, quantile * Removals.Length)];
}
