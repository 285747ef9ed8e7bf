using System.IO.Pipelines;
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

    /// <summary>Threads that serve connections by an event loop; 0 where the thread pool does.</summary>
    int Loops => IsInline ? 1 : 0;

    /// <summary>Where an uplink's write loop continues.</summary>
    PipeScheduler WriterScheduler { get; }

    /// <summary>Where a connection goes on that has had its turn (<see cref="WorkTurn"/>): behind what all others have by then.</summary>
    PipeScheduler TurnScheduler => WriterScheduler;

    /// <summary>Faults that were contained on the process's loops, timers and threads.</summary>
    ContainedFaults Faults { get; }

    /// <summary>The event loop over epoll that carries the data plane's sockets, or null where <c>System.Net.Sockets</c> does.</summary>
    EpollLoop? Loop => null;

    /// <summary>Takes over a connected socket as the bytes of an uplink.</summary>
    /// <exception cref="SocketException">The system has no descriptor left; the socket is disposed of.</exception>
    IUplinkTransport CreateUplinkTransport(Socket socket) => new SocketUplinkTransport(socket);

    /// <summary>Adds the engine's choices to an uplink's settings.</summary>
    UplinkSettings Apply(UplinkSettings settings);
}
