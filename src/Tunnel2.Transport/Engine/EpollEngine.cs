using System.IO.Pipelines;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Everything on one thread of our own that waits for sockets by epoll, as nginx does with one worker
/// (docs/decisions/0007-own-epoll-transport.md). Work that should wait for company (an uplink's batch) runs behind the events of a round.
/// </summary>
internal sealed class EpollEngine : IEngine
{
    /// <summary>With this few streams there is no company to wait for.</summary>
    private const int QuietStreams = 2;

    private readonly EpollLoop _loop = new();

    /// <inheritdoc/>
    public EngineMode Mode => EngineMode.Epoll;

    /// <inheritdoc/>
    public bool IsInline => true;

    /// <inheritdoc/>
    public PipeScheduler WriterScheduler => _loop;

    /// <inheritdoc/>
    public PipeScheduler TurnScheduler => _loop.Turns;

    /// <inheritdoc/>
    public ContainedFaults Faults => _loop.Faults;

    /// <inheritdoc/>
    public EpollLoop? Loop => _loop;

    /// <inheritdoc/>
    public UplinkSettings Apply(UplinkSettings settings) =>
        settings with { WriterScheduler = _loop, InlineContinuations = true, QuietStreams = QuietStreams, Faults = Faults };

    /// <inheritdoc/>
    public IUplinkTransport CreateUplinkTransport(Socket socket) => EpollUplinkTransport.Adopt(_loop, socket);

    /// <inheritdoc/>
    public void Dispose() => _loop.Dispose();
}
