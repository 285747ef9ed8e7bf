using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Connection feature: where the users of a connection continue.</summary>
internal interface ILoopFeature
{
    /// <summary>
    /// True (default): on the event loop's thread, where nothing may take its time. False: on the pool. Set while nothing is being read or
    /// flushed.
    /// </summary>
    bool RunsOnLoop { get; set; }

    /// <summary>The loop.</summary>
    EpollLoop Loop { get; }

    /// <summary>Moves the connection to another loop; see <see cref="SocketDuplexPipe.TryMoveTo"/>.</summary>
    bool TryMoveTo(EpollLoop loop);
}
