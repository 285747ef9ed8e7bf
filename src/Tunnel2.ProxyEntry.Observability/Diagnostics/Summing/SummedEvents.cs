using System.Collections.Frozen;

namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>
/// The log events that a visitor or an agent can cause as often as it likes: only the first few of a kind are written, and then their
/// number. All other events report actions of the operator or the machine. Lines below Information are not summed up, because the operator
/// asked for all of them.
/// </summary>
internal static class SummedEvents
{
    private static readonly FrozenSet<int> _ids = FrozenSet.Create(
        2000, 2001, 2002, 2003, 2007, 2008, 2021, 2022, 2050, 2051, // agents and their connections
        2100, 2103, 2104, 2110, 2111, // requests and visitors' connections
        2186, // strangers at the listener for nodes
        2207, // administration
        2263, 2264, // ports of tunnels, and connections of balancers
        2705, 2706, // names that move between nodes
        4008, 4009); // clients of the relay

    /// <summary>Whether lines of an event are summed up. All lines of the framework are.</summary>
    public static bool Contains(int eventId, bool isFramework) => isFramework || _ids.Contains(eventId);
}
