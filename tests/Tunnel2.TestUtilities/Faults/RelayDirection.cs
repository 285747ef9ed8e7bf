namespace Tunnel2.TestUtilities;

/// <summary>The directions of a relayed connection.</summary>
[Flags]
public enum RelayDirection
{
    /// <summary>Neither.</summary>
    None = 0,

    /// <summary>From the client of the proxy to the target.</summary>
    ToTarget = 1,

    /// <summary>From the target to the client of the proxy.</summary>
    ToClient = 2,

    /// <summary>Both.</summary>
    Both = ToTarget | ToClient,
}
