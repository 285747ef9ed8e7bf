namespace Tunnel2.ProxyEntry.Agents;

/// <summary>The agents that may connect now: those of the start, until the settings are read again. Thread-safe.</summary>
/// <param name="start">Those of the start.</param>
internal sealed class AgentRegistry(AgentTable start)
{
    private volatile AgentTable _current = start;

    /// <summary>The table that holds now. One decision asks once.</summary>
    public AgentTable Current => _current;

    /// <summary>Lets another table hold from now on.</summary>
    public void Replace(AgentTable table) => _current = table;
}
