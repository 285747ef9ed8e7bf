namespace Tunnel2.Telemetry.Relay;

/// <summary>Why the server ended a client's connection; the first cause counts.</summary>
internal enum RelayCloseReason
{
    None = 0,

    /// <summary>The client or the network closed it.</summary>
    ClientGone,

    /// <summary>More than <see cref="RelayServerOptions.ClientBuffer"/> bytes were not sent yet.</summary>
    TooSlow,

    /// <summary>Its hello was refused or did not come.</summary>
    Refused,

    /// <summary>The server stopped or its ring was closed.</summary>
    ServerStopped,
}
