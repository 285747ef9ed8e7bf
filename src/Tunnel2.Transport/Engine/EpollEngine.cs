using System.IO.Pipelines;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Everything on one thread of our own that waits for sockets by epoll (docs/decisions/0007-own-epoll-transport.md): the event-loop engine
/// without <c>System.Net.Sockets</c> between.
/// </summary>
internal sealed class EpollEngine : IEngine
{
    /// <summary>With this few streams there is no company to wait for.</summary>
    private const int QuietStreams = 2;

    private readonly EpollLoop _loop = new();

    /// <inheritdoc/>
    public EngineMode Mode => EngineMode.EventLoop;

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
