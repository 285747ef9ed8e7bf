using System.Collections.Frozen;

namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>
/// The log events that a visitor or an agent can cause as often as it likes: of them only the first few of a kind are written, and then how
/// many there were. All others tell of what the operator or the machine did. Those below Information are for whoever asked for all of them.
/// </summary>
internal static class SummedEvents
{
    private static readonly FrozenSet<int> _ids = FrozenSet.Create(
        2000, 2001, 2002, 2003, 2007, 2008, 2050, 2051, // agents and their connections
        2100, 2103, 2104, 2110, // requests and visitors' connections
        2207); // administration

    /// <summary>Whether lines of an event are summed up. So are those of the framework, whatever they are about.</summary>
    public static bool Contains(int eventId, bool isFramework) => isFramework || _ids.Contains(eventId);
}
