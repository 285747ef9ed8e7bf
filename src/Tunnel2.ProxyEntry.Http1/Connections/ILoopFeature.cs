using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Epoll.Pipes;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Connection feature: where the code that uses a connection continues.</summary>
internal interface ILoopFeature
{
    /// <summary>
    /// True (default): on the event loop's thread, where code must not block or take long. False: on the pool. Set only while no read and
    /// no flush is running.
    /// </summary>
    bool RunsOnLoop { get; set; }

    /// <summary>The loop.</summary>
    EpollLoop Loop { get; }

    /// <summary>Moves the connection to another loop; see <see cref="SocketDuplexPipe.TryMoveTo"/>.</summary>
    bool TryMoveTo(EpollLoop loop);

    /// <summary>The connection carries an uplink from now on; see <see cref="UnreadBytes"/>.</summary>
    void LimitUnreadBytes();
}
