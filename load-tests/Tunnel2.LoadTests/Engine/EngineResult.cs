namespace Tunnel2.LoadTests.Engine;

/// <summary>What a run came to.</summary>
/// <param name="Flows">By flow.</param>
/// <param name="Elapsed">From the first arrival to the last answer.</param>
/// <param name="WasStopped">Whether it was stopped before its end.</param>
/// <param name="Priority">How the system ranked the generator's thread.</param>
internal sealed record EngineResult(IReadOnlyList<FlowResult> Flows, TimeSpan Elapsed, bool WasStopped, GeneratorPriority Priority);
