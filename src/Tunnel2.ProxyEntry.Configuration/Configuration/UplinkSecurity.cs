namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>How the uplink, or the relay, is protected.</summary>
internal enum UplinkSecurity
{
    /// <summary>Plaintext: it listens on loopback, or the settings say that the network is safe.</summary>
    Plaintext,

    /// <summary>TLS with the certificate that the settings name.</summary>
    Certificate,

    /// <summary>TLS with a certificate that ProxyEntry makes on its first start and keeps.</summary>
    SelfMade,
}
