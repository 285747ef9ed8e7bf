namespace Tunnel2.Transport.Tls;

/// <summary>How a TLS handshake ended.</summary>
internal enum TlsHandshakeStatus
{
    /// <summary>The connection is encrypted; an uplink's speaks its application protocol.</summary>
    Done,

    /// <summary>The peer sent something that is not TLS. Nothing was answered yet: the connection can still be used to say so.</summary>
    NotTls,

    /// <summary>The peer speaks TLS and did not agree to the uplink's application protocol.</summary>
    OtherProtocol,

    /// <summary>One side refused: a certificate, a version, a broken message.</summary>
    Refused,

    /// <summary>The peer closed the connection, or it failed.</summary>
    Closed,

    /// <summary>The peer was too slow.</summary>
    TimedOut,
}

/// <summary>What a TLS handshake gave.</summary>
/// <param name="Status">How it ended.</param>
/// <param name="Transport">The encrypted connection; only with <see cref="TlsHandshakeStatus.Done"/>.</param>
/// <param name="FirstBytes">The first bytes that the peer sent, up to 8.</param>
/// <param name="Detail">Words of the TLS library for a person; may be empty.</param>
internal readonly record struct TlsHandshakeResult(
    TlsHandshakeStatus Status, TlsTransport? Transport, ReadOnlyMemory<byte> FirstBytes, string Detail);
