using System.IO.Pipelines;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Transport.Engine;

/// <summary>The usual way of .NET: completions on the thread pool, on any number of cores.</summary>
internal sealed class PortableEngine : IEngine
{
    /// <inheritdoc/>
    public EngineMode Mode => EngineMode.Portable;

    /// <inheritdoc/>
    public bool IsInline => false;

    /// <inheritdoc/>
    public ContainedFaults Faults { get; } = new();

    /// <inheritdoc/>
    public UplinkSettings Apply(UplinkSettings settings) =>
        settings with { WriterScheduler = PipeScheduler.ThreadPool, InlineContinuations = false, QuietStreams = -1, Faults = Faults };

    /// <inheritdoc/>
    public void Dispose()
    {
    }
}
