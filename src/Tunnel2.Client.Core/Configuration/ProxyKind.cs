namespace Tunnel2.Client.Core.Configuration;

/// <summary>What a proxy between agent and server speaks.</summary>
public enum ProxyKind
{
    /// <summary>HTTP, with CONNECT (RFC 9110 section 9.3.6).</summary>
    Http = 0,

    /// <summary>SOCKS, version 5 (RFC 1928). It resolves the server's name.</summary>
    Socks5,

    /// <summary>HTTP with CONNECT, inside TLS to the proxy.</summary>
    Https,
}
