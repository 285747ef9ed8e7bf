namespace Tunnel2.LoadTests.Engine;

/// <summary>A request that is due.</summary>
/// <param name="Due">Its intended start, in nanoseconds.</param>
/// <param name="Step">The step of the schedule.</param>
/// <param name="Index">Its number in the flow.</param>
internal readonly record struct Arrival(long Due, int Step, long Index);
