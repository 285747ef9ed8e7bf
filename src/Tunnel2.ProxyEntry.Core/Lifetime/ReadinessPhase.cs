namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>Whether the process takes new work.</summary>
internal enum ReadinessPhase
{
    /// <summary>Not yet.</summary>
    Starting,

    /// <summary>Yes.</summary>
    Ready,

    /// <summary>No longer: it finishes running requests.</summary>
    Draining,
}
