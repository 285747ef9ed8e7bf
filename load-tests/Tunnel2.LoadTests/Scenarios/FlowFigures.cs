namespace Tunnel2.LoadTests.Scenarios;

/// <summary>What came of a flow.</summary>
/// <param name="Ok">Complete and correct answers.</param>
/// <param name="Failed">All others.</param>
/// <param name="WrongBodies">Of the failed: complete answers with other bytes than they should have had.</param>
/// <param name="P99">Of the correct answers, from the intended start; null: there was none.</param>
internal sealed record FlowFigures(long Ok, long Failed, long WrongBodies, TimeSpan? P99)
{
    /// <summary>The mean of the same latencies; null: there was none, or it was not measured.</summary>
    public TimeSpan? Mean { get; init; }
}
