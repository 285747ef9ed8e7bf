using System.Net;
using System.Net.Sockets;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Tests.Epoll;

/// <summary>Listens with one loop.</summary>
internal static class OneLoopListener
{
    public static EpollListener Start(
        EpollLoop loop, Socket bound, int backlog, Action<int, IPEndPoint?> accepted, IAcceptGate? room = null) =>
        EpollListener.StartAll([loop], bound, backlog, (_, descriptor, peer) => accepted(descriptor, peer), failed: null, room)[0];
}
