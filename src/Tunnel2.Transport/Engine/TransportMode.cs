namespace Tunnel2.Transport.Engine;

/// <summary>What moves the bytes of the data plane's sockets (docs/decisions/0007-own-epoll-transport.md).</summary>
internal enum TransportMode
{
    /// <summary>Epoll with the event-loop engine on Linux (x64, arm64), sockets elsewhere.</summary>
    Auto,

    /// <summary>An event loop of our own over epoll. Where it cannot be (another system, the portable engine), sockets.</summary>
    Epoll,

    /// <summary><c>System.Net.Sockets</c>.</summary>
    Sockets,
}
