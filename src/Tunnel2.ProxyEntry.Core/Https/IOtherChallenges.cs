using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Https;

/// <summary>
/// Challenges that other nodes of the cluster have begun: the visit of the certificate authority may come to any node. Thread-safe.
/// </summary>
internal interface IOtherChallenges
{
    /// <summary>Whether authorities are shown names over TLS, so that handshakes are looked at.</summary>
    bool UsesTls { get; }

    /// <summary>The answer to a visit over HTTP; null: none is awaited, or that cannot be known now.</summary>
    /// <param name="name">The name in lower case.</param>
    /// <param name="token">The token of the visit.</param>
    ValueTask<byte[]?> FindHttpAsync(string name, string token);

    /// <summary>The certificate for a visit for <c>acme-tls/1</c>; null: none is awaited, or that cannot be known now.</summary>
    /// <param name="name">The name in lower case.</param>
    ValueTask<ServerCertificate?> FindTlsAsync(string name);
}
