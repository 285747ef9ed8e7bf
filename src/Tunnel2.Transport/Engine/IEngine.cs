using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Where the data plane's code runs: the one seam between it and the system's sockets. Thread-safe; one per process.
/// </summary>
internal interface IEngine : IDisposable
{
    /// <summary>Which one it is, never <see cref="EngineMode.Auto"/>.</summary>
    EngineMode Mode { get; }

    /// <summary>Whether continuations run on the thread of an event loop, where nothing may block.</summary>
    bool IsInline { get; }

    /// <summary>
    /// The event loops over epoll that carry the data plane's sockets, a thread each; none where <c>System.Net.Sockets</c> does, and the thread pool.
    /// </summary>
    IReadOnlyList<EpollLoop> Loops => [];

    /// <summary>Faults that were contained on the process's loops, timers and threads.</summary>
    ContainedFaults Faults { get; }

    /// <summary>The loop that a connection should live on which belongs to none yet: each in turn. Null where there is none.</summary>
    EpollLoop? NextLoop() => null;

    /// <summary>Takes over a connected socket as the bytes of an uplink, on the next loop.</summary>
    /// <exception cref="SocketException">The system has no descriptor left; the socket is disposed of.</exception>
    IUplinkTransport CreateUplinkTransport(Socket socket) => new SocketUplinkTransport(socket);

    /// <summary>Adds the engine's choices to an uplink's settings. Where its write loop continues is its transport's choice (<see cref="IUplinkTransport.Home"/>).</summary>
    UplinkSettings Apply(UplinkSettings settings);
}
