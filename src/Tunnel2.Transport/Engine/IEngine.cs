using System.Net.Sockets;
using Tunnel2.Multiplexing.Streams;
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
    /// The event loops over epoll that carry the data plane's sockets, a thread each; none where <c>System.Net.Sockets</c> does, and the
    /// thread pool.
    /// </summary>
    IReadOnlyList<EpollLoop> Loops => [];

    /// <summary>Faults that were contained on the process's loops, timers and threads.</summary>
    ContainedFaults Faults { get; }

    /// <summary>
    /// Whether the process goes on when the thread of one of several loops has failed. Set by whoever gives nothing to lost loops and
    /// tells of them. Off (default): the fault ends the process, as that of any thread does.
    /// </summary>
    bool OutlivesLoops
    {
        get => false;
        set
        {
        }
    }

    /// <summary>
    /// The loop that a connection should live on which belongs to none yet: each in turn, but for those that serve nobody now. Null where
    /// there is none.
    /// </summary>
    EpollLoop? NextLoop() => null;

    /// <summary>How many loops may still be added.</summary>
    int SpareLoops => 0;

    /// <summary>Starts one more loop.</summary>
    /// <returns>The loop; null where there may be no more, the system has no descriptors for it, or there are none at all.</returns>
    EpollLoop? TryAddLoop() => null;

    /// <summary>Takes over a connected socket as the bytes of an uplink, on the next loop.</summary>
    /// <exception cref="SocketException">The system has no descriptor left; the socket is disposed of.</exception>
    IUplinkTransport CreateUplinkTransport(Socket socket) => new SocketTransport(socket);

    /// <summary>Adds the engine's choices to an uplink's settings. Where its write loop continues is its transport's choice
    /// (<see cref="Multiplexing.Transports.IByteTransport.Home"/>).</summary>
    UplinkSettings Apply(UplinkSettings settings);
}
