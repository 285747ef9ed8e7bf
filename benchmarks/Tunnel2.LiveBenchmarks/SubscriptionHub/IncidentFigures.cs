namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>What one index did in the incident.</summary>
/// <param name="Cpu">Processors that the process used at the fixed rate of messages.</param>
/// <param name="Removals">How long each <c>RemoveClient</c> took beside a publisher flat out, in microseconds, ascending.</param>
/// <param name="Messages">Messages a second that a publisher flat out published while clients came and went by the clock.</param>
/// <param name="Deliveries">Subscribers a second that it visited.</param>
internal sealed record IncidentFigures(double Cpu, double[] Removals, double Messages, double Deliveries)
{
    /// <summary>Reads a quantile of <see cref="Removals"/>.</summary>
    public double At(double quantile) => Removals[(int)Math.Min(Removals.Length - 1, quantile * Removals.Length)];
}
