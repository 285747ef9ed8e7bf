namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>Whom a certificate is shown to, for the words of the log.</summary>
internal enum CertificateUse
{
    /// <summary>Agents; they may pin its fingerprint.</summary>
    Agents,

    /// <summary>Visitors.</summary>
    Visitors,

    /// <summary>Clients of the relay; they may pin its fingerprint.</summary>
    RelayClients,

    /// <summary>Other nodes of the cluster.</summary>
    Nodes,
}
