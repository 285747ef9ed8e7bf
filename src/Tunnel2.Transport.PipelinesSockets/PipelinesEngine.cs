using System.Net.Sockets;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.PipelinesSockets;

/// <summary>
/// The portable engine with uplinks over Pipelines.Sockets.Unofficial, for comparison in a whole tunnel. An agent built with
/// <c>-p:PipelinesSockets=true</c> uses it when <c>TUNNEL2_ENGINE</c> is <see cref="Name"/>.
/// </summary>
internal sealed class PipelinesEngine : IEngine
{
    /// <summary>The value of <c>TUNNEL2_ENGINE</c> that selects it.</summary>
    public const string Name = "pipelines";

    private readonly PortableEngine _portable = new();

    /// <inheritdoc/>
    public EngineMode Mode => EngineMode.Portable;

    /// <inheritdoc/>
    public bool IsInline => false;

    /// <inheritdoc/>
    public ContainedFaults Faults => _portable.Faults;

    /// <inheritdoc/>
    public IUplinkTransport CreateUplinkTransport(Socket socket) => new PipelinesUplinkTransport(socket);

    /// <inheritdoc/>
    public UplinkSettings Apply(UplinkSettings settings) => _portable.Apply(settings);

    /// <inheritdoc/>
    public void Dispose() => _portable.Dispose();
}
