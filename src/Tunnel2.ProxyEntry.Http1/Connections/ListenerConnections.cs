using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>The connections that a stop has to see to the end, by the kind of listener.</summary>
internal sealed class ListenerConnections(ContainedFaults? faults = null)
{
    /// <summary>Those of visitors.</summary>
    public ConnectionTracker Visitors { get; } = new(faults: faults);

    /// <summary>Those of the admin listener, which are not waited for.</summary>
    public ConnectionTracker Admin { get; } = new(faults: faults);
}
