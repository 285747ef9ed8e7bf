namespace Tunnel2.Telemetry.Relay;

/// <summary>Why the server ended a client's connection; the first cause counts.</summary>
internal enum RelayCloseReason
{
    None = 0,

    /// <summary>The client closed it or the network did.</summary>
    ClientGone,

    /// <summary>It lagged behind by more than <see cref="RelayServerOptions.ClientBuffer"/>.</summary>
    TooSlow,

    /// <summary>Its hello was refused or did not come.</summary>
    Refused,

    /// <summary>The server stopped or its ring was closed.</summary>
    ServerStopped,
}
