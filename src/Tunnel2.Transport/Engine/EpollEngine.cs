using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Everything on threads of our own that wait for sockets by epoll, as nginx does with its workers (docs/decisions/0007-own-epoll-transport.md). A
/// connection belongs to one loop at a time. Work that should wait for company (an uplink's batch) runs behind the events of a round.
/// </summary>
internal sealed class EpollEngine : IEngine
{
    /// <summary>The most loops: more processors than that have other things to do.</summary>
    public const int MaxLoops = 32;

    /// <summary>With this few streams there is no company to wait for.</summary>
    private const int QuietStreams = 2;

    private readonly EpollLoop[] _loops;
    private uint _next = uint.MaxValue;

    /// <summary>Starts the loops.</summary>
    /// <param name="loops">How many, 1 to <see cref="MaxLoops"/>.</param>
    /// <exception cref="IOException">The system has no descriptors for them.</exception>
    public EpollEngine(int loops = 1)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(loops, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(loops, MaxLoops);
        _loops = new EpollLoop[loops];
        for (var i = 0; i < loops; i++)
        {
            try
            {
                _loops[i] = new EpollLoop(Faults, i);
            }
            catch
            {
                Array.ForEach(_loops, static loop => loop?.Dispose());
                throw;
            }
        }
    }

    /// <inheritdoc/>
    public EngineMode Mode => EngineMode.Epoll;

    /// <inheritdoc/>
    public bool IsInline => true;

    /// <inheritdoc/>
    public ContainedFaults Faults { get; } = new();

    /// <inheritdoc/>
    public IReadOnlyList<EpollLoop> Loops => _loops;

    /// <inheritdoc/>
    public EpollLoop NextLoop() => _loops[Interlocked.Increment(ref _next) % (uint)_loops.Length];

    /// <inheritdoc/>
    public UplinkSettings Apply(UplinkSettings settings) =>
        settings with { WriterScheduler = _loops[0], InlineContinuations = true, QuietStreams = QuietStreams, Faults = Faults };

    /// <inheritdoc/>
    public IUplinkTransport CreateUplinkTransport(Socket socket) => EpollUplinkTransport.Adopt(NextLoop(), socket);

    /// <inheritdoc/>
    public void Dispose() => Array.ForEach(_loops, static loop => loop.Dispose());
}
