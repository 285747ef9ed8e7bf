namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>Whether the process takes new work.</summary>
internal enum ReadinessPhase
{
    /// <summary>Not yet.</summary>
    Starting,

    /// <summary>Yes.</summary>
    Ready,

    /// <summary>Not any more: it finishes what is open.</summary>
    Draining,
}
