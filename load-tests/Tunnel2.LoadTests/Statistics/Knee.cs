namespace Tunnel2.LoadTests.Statistics;

/// <summary>Where a rising load was no longer held.</summary>
/// <param name="Rate">The highest rate that was held, per second; null: none.</param>
/// <param name="BrokeAt">The rate that was not; null: all were held.</param>
/// <param name="Reason">Why not.</param>
/// <param name="IsUndecided">Whether the reason says nothing of what was measured: the generator lagged, or the requests were too
/// few.</param>
internal sealed record Knee(double? Rate, double? BrokeAt, string Reason, bool IsUndecided = false);
