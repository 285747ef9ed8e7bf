namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>What moves the bytes of the data plane's sockets (setting <c>Tunnel2:Transport</c>).</summary>
public enum TransportMode
{
    /// <summary><see cref="Epoll"/> with the event-loop engine on Linux, <see cref="Sockets"/> elsewhere.</summary>
    Auto,

    /// <summary>An event loop of our own over epoll: fewest system calls. Where it cannot be, <see cref="Sockets"/>.</summary>
    Epoll,

    /// <summary>The runtime's sockets.</summary>
    Sockets,
}
