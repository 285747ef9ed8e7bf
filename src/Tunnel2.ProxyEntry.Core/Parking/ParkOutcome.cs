namespace Tunnel2.ProxyEntry.Parking;

/// <summary>Why a request no longer waits.</summary>
internal enum ParkOutcome
{
    /// <summary>It still waits.</summary>
    None,

    /// <summary>The name was registered: look again.</summary>
    Returned,

    /// <summary>No agent came in time.</summary>
    TimedOut,

    /// <summary>The visitor left.</summary>
    VisitorLeft,

    /// <summary>ProxyEntry is stopping, so no agent will come.</summary>
    Closed,

    /// <summary>All places were taken, and its name had most of them: another name's request got it.</summary>
    GaveWay,
}
