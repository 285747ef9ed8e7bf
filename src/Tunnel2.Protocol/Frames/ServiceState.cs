namespace Tunnel2.Protocol.Frames;

/// <summary>How an agent's check found its service (8 bits in SERVICE). Unknown values change nothing.</summary>
public enum ServiceState : byte
{
    /// <summary>Never sent.</summary>
    None = 0,

    /// <summary>It works.</summary>
    Healthy = 1,

    /// <summary>It does not work.</summary>
    Unhealthy = 2,
}
