using System.Net.Sockets;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Engine;

/// <summary>Runs the data plane's code: the one seam between that code and the system's sockets. Thread-safe; one per process.</summary>
internal interface IEngine : IDisposable
{
    /// <summary>The engine's kind, never <see cref="EngineMode.Auto"/>.</summary>
    EngineMode Mode { get; }

    /// <summary>Whether continuations run on the thread of an event loop, where no code may block.</summary>
    bool IsInline { get; }

    /// <summary>
    /// The event loops over epoll that serve the data plane's sockets, a thread each. None when <c>System.Net.Sockets</c> and the thread
    /// pool do this.
    /// </summary>
    IReadOnlyList<EpollLoop> Loops => [];

    /// <summary>The faults that were contained on the process's loops, timers and threads.</summary>
    ContainedFaults Faults { get; }

    /// <summary>
    /// Whether the process continues when the thread of one of several loops has failed. The host sets it, if it gives no connection to
    /// lost loops and reports them. Off (default): the fault ends the process, like a fault of any thread.
    /// </summary>
    bool OutlivesLoops
    {
        get => false;
        set
        {
        }
    }

    /// <summary>The loop for a new connection: each in turn, except those that are out of service. Null if there is none.</summary>
    EpollLoop? NextLoop() => null;

    /// <summary>How many loops may still be added.</summary>
    int SpareLoops => 0;

    /// <summary>Starts one more loop.</summary>
    /// <returns>
    /// The loop; null when there may be no more, when the system has no descriptors for it, or when the engine has no loops.
    /// </returns>
    EpollLoop? TryAddLoop() => null;

    /// <summary>Takes over a connected socket for the bytes of an uplink, on the next loop.</summary>
    /// <exception cref="SocketException">The system has no descriptor left; the socket is disposed of.</exception>
    IUplinkTransport CreateUplinkTransport(Socket socket) => new SocketTransport(socket);

    /// <summary>
    /// Adds the engine's choices to an uplink's settings. The transport chooses where the write loop continues
    /// (<see cref="Multiplexing.Transports.IByteTransport.Home"/>).
    /// </summary>
    UplinkSettings Apply(UplinkSettings settings);
}
