namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>How a certificate authority is shown that a name leads to this server.</summary>
internal enum AcmeChallenge
{
    /// <summary>Over HTTP where there is a listener, else over TLS.</summary>
    Auto,

    /// <summary>By a path of the public listener (RFC 8555 section 8.3).</summary>
    Http01,

    /// <summary>By a handshake at the HTTPS listener (RFC 8737).</summary>
    TlsAlpn01,

    /// <summary>By a TXT record, which a program of the operator makes (RFC 8555 section 8.4).</summary>
    Dns01,
}
