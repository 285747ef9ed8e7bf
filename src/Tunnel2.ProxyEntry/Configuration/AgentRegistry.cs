namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The agents that may connect now: those of the start, until the settings are read again. Thread-safe.</summary>
internal sealed class AgentRegistry
{
    private volatile AgentTable _current;

    public AgentRegistry(ProxyEntrySettings settings) => _current = settings.Agents;

    /// <summary>The table that holds now. One decision asks once.</summary>
    public AgentTable Current => _current;

    /// <summary>Lets another table hold from now on.</summary>
    public void Replace(AgentTable table) => _current = table;
}
