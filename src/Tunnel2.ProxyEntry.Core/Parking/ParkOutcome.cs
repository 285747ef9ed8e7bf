namespace Tunnel2.ProxyEntry.Parking;

/// <summary>Why a request waits no longer.</summary>
internal enum ParkOutcome
{
    /// <summary>It waits still.</summary>
    None,

    /// <summary>The name was registered: look again.</summary>
    Returned,

    /// <summary>Nobody came in time.</summary>
    TimedOut,

    /// <summary>The visitor left.</summary>
    VisitorLeft,

    /// <summary>ProxyEntry is stopping, so that no agent can come any more.</summary>
    Closed,
}
