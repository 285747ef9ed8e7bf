using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>The open connections by kind of listener, for the drain.</summary>
internal sealed class ListenerConnections(ContainedFaults? faults = null)
{
    /// <summary>Those of visitors.</summary>
    public ConnectionTracker Visitors { get; } = new(faults: faults);

    /// <summary>Those of the admin listener; the drain does not wait for them.</summary>
    public ConnectionTracker Admin { get; } = new(faults: faults);
}
