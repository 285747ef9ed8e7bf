namespace Tunnel2.Client.Core.Configuration;

/// <summary>Which version of HTTP the agent speaks with the service.</summary>
public enum BackendProtocol
{
    /// <summary>
    /// https: what the service chooses by ALPN. http: HTTP/2 for gRPC requests and for a service that understands nothing else, HTTP/1.1
    /// otherwise.
    /// </summary>
    Auto = 0,

    /// <summary>HTTP/1.1 only.</summary>
    Http1,

    /// <summary>HTTP/2 only; without TLS by prior knowledge.</summary>
    Http2,
}
