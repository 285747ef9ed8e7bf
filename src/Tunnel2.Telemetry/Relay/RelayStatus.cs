namespace Tunnel2.Telemetry.Relay;

/// <summary>The server's answer to a hello. Part of the wire format: never renumber.</summary>
internal enum RelayStatus : ushort
{
    Accepted = 0,

    /// <summary>Not a relay client's hello.</summary>
    BadHello = 1,

    /// <summary>A version that the server does not speak; its own is in the answer.</summary>
    UnsupportedVersion = 2,

    /// <summary>The limit of clients is reached; try again later.</summary>
    TooManyClients = 3,

    /// <summary>The token is missing or wrong. The answer does not say which.</summary>
    NotAuthorized = 4,

    /// <summary>This relay expects TLS; the only answer that it sends in plaintext.</summary>
    TlsRequired = 5,
}
