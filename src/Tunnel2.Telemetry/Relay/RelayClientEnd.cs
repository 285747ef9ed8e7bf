namespace Tunnel2.Telemetry.Relay;

/// <summary>Why a connection of the client ended.</summary>
internal enum RelayClientEnd
{
    /// <summary>Could not connect.</summary>
    Unreachable,

    /// <summary>Closed by the server or the network.</summary>
    Closed,

    /// <summary>No byte, not even a heartbeat, for the limit.</summary>
    Silent,

    /// <summary>The bytes broke the protocol: a wrong checksum, length, or order of sequence numbers.</summary>
    ProtocolError,

    /// <summary>The server refused the hello for now.</summary>
    Refused,

    /// <summary>The TLS handshake failed; the function that did it knows why.</summary>
    TlsFailed,

    /// <summary>The server refused the token, or wants one. Another attempt does not help.</summary>
    NotAuthorized,

    /// <summary>The server expects TLS. Another attempt does not help.</summary>
    TlsRequired,
}
