namespace Tunnel2.ProxyEntry.Agents;

/// <summary>The agents that may connect now: those of the start, until the settings are read again. Thread-safe.</summary>
/// <param name="start">The agents of the start.</param>
internal sealed class AgentRegistry(AgentTable start)
{
    private volatile AgentTable _current = start;

    /// <summary>The current table. A decision reads it once.</summary>
    public AgentTable Current => _current;

    /// <summary>Replaces the table.</summary>
    public void Replace(AgentTable table) => _current = table;
}
