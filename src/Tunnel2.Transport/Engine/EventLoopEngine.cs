using System.IO.Pipelines;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Transport.Engine;

/// <summary>
/// Everything on the socket engine's one thread, as nginx does with one worker. Work that should wait for company (an uplink's batch)
/// is put off to the engine's next round, when every event of the present one has added its share.
/// </summary>
internal sealed class EventLoopEngine : IEngine
{
    /// <summary>With this few streams there is no company to wait for.</summary>
    private const int QuietStreams = 2;

    private readonly NextRoundScheduler _nextRound;

    public EventLoopEngine() => _nextRound = new NextRoundScheduler(Faults);

    /// <inheritdoc/>
    public EngineMode Mode => EngineMode.EventLoop;

    /// <inheritdoc/>
    public bool IsInline => true;

    /// <inheritdoc/>
    public PipeScheduler WriterScheduler => _nextRound;

    /// <inheritdoc/>
    public ContainedFaults Faults { get; } = new();

    /// <inheritdoc/>
    public UplinkSettings Apply(UplinkSettings settings) =>
        settings with { WriterScheduler = _nextRound, InlineContinuations = true, QuietStreams = QuietStreams, Faults = Faults };

    /// <inheritdoc/>
    public void Dispose() => _nextRound.Dispose();
}
