using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>An engine without sockets: uplinks run as the test's own engine has them.</summary>
internal sealed class MemoryEngine(TestEngine engine) : IEngine
{
    public EngineMode Mode => EngineMode.Portable;

    public bool IsInline => false;

    public ContainedFaults Faults { get; } = new();

    public UplinkSettings Apply(UplinkSettings settings) => engine.Apply(settings) with { Faults = Faults };

    public void Dispose()
    {
    }
}
