using System.Net;
using System.Security.Cryptography.X509Certificates;

namespace Tunnel2.TestBackend;

/// <summary>How a <see cref="TestBackendServer"/> listens.</summary>
public sealed record TestBackendOptions
{
    /// <summary>Where to listen; port 0 (the default) takes a free one.</summary>
    public IPEndPoint Listen { get; init; } = new(IPAddress.Loopback, 0);

    /// <summary>Serve https, with ALPN h2 and http/1.1.</summary>
    public bool UseTls { get; init; }

    /// <summary>The certificate for <see cref="UseTls"/>; by default one made at the start for localhost, 127.0.0.1 and ::1.</summary>
    public X509Certificate2? Certificate { get; init; }

    /// <summary>Without TLS: speak HTTP/2 with prior knowledge instead of HTTP/1.1.</summary>
    public bool UseHttp2PriorKnowledge { get; init; }

    /// <summary>Who runs the handlers.</summary>
    public TestBackendEngine Engine { get; init; } = TestBackendEngine.Portable;

    /// <summary>
    /// Count arrivals, ends and aborts by path, so that tests can wait for them. Costs a lock per request, and memory per distinct path:
    /// off when run as a program.
    /// </summary>
    public bool TrackRequests { get; init; } = true;
}
