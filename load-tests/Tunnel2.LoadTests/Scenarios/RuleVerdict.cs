namespace Tunnel2.LoadTests.Scenarios;

/// <summary>What came of a pass rule.</summary>
internal enum RuleVerdict
{
    /// <summary>It holds.</summary>
    Passed,

    /// <summary>It does not.</summary>
    Failed,

    /// <summary>There is nothing to judge it by, such as latencies of a generator that lagged. Not a pass.</summary>
    Void,
}
