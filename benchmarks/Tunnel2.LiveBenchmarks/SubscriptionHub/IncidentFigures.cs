namespace Tunnel2.LiveBenchmarks.SubscriptionHub;

/// <summary>What one index did in the incident.</summary>
/// <param name="Cpu">Processor time of the process per message at the fixed rate, in microseconds.</param>
/// <param name="Removals">How long each <c>RemoveClient</c> took beside a publisher flat out, in microseconds, ascending.</param>
/// <param name="Messages">Messages a second that a publisher flat out published while clients came and went by the clock.</param>
/// <param name="PerProcessor">The same by the second of processor time, which other work on the machine changes little.</param>
internal sealed record IncidentFigures(double Cpu, double[] Removals, double Messages, double PerProcessor)
{
    /// <summary>Reads a quantile of <see cref="Removals"/>.</summary>
    public double At(double quantile) => Removals[(int)Math.Min(Removals.Length - 1, quantile * Removals.Length)];
}
