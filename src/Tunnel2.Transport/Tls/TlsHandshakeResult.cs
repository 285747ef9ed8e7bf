namespace Tunnel2.Transport.Tls;

/// <summary>How a TLS handshake ended.</summary>
internal enum TlsHandshakeStatus
{
    /// <summary>The connection is encrypted; an uplink uses its application protocol.</summary>
    Done,

    /// <summary>The peer sent bytes that are not TLS. No answer was sent yet, so the connection can still carry one.</summary>
    NotTls,

    /// <summary>The peer speaks TLS and did not agree to the application protocol.</summary>
    OtherProtocol,

    /// <summary>One side refused: a certificate, a version, a broken message.</summary>
    Refused,

    /// <summary>The peer closed the connection, or it failed.</summary>
    Closed,

    /// <summary>The peer was too slow.</summary>
    TimedOut,
}

/// <summary>The result of a TLS handshake.</summary>
/// <param name="Status">How it ended.</param>
/// <param name="Transport">The encrypted connection; only with <see cref="TlsHandshakeStatus.Done"/>.</param>
/// <param name="FirstBytes">The first bytes that the peer sent, up to 8.</param>
/// <param name="Detail">The TLS library's message, for people; may be empty.</param>
internal readonly record struct TlsHandshakeResult(
    TlsHandshakeStatus Status, TlsTransport? Transport, ReadOnlyMemory<byte> FirstBytes, string Detail);
