namespace Tunnel2.LoadTests.Engine;

/// <summary>How the system ranks the generator's thread.</summary>
internal enum GeneratorPriority
{
    /// <summary>As any other.</summary>
    Usual,

    /// <summary>Before usual ones (nice −10).</summary>
    Raised,

    /// <summary>Real-time (SCHED_RR, the lowest of its priorities).</summary>
    RealTime,
}
