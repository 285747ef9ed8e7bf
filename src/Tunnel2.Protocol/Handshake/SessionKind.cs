namespace Tunnel2.Protocol.Handshake;

/// <summary>What a session carries (8 bits). ProxyEntry refuses a kind that it does not know.</summary>
public enum SessionKind : byte
{
    /// <summary>Requests of HTTP, to a name in their Host.</summary>
    Http = 0,

    /// <summary>Connections of TCP, to a port of the session's own.</summary>
    Tcp = 1,

    /// <summary>Connections of TLS, to the name that their ClientHello says. ProxyEntry does not open them.</summary>
    Tls = 2,

    /// <summary>Datagrams of UDP, to a port of the session's own.</summary>
    Udp = 3,
}
