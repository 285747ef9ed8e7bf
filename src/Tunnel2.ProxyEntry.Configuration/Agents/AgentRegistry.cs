namespace Tunnel2.ProxyEntry.Agents;

/// <summary>
/// The agents that may connect now: those of the settings, which are read again while the process runs, and those with a token that the
/// server keeps itself. Thread-safe.
/// </summary>
internal sealed class AgentRegistry
{
    private readonly Lock _gate = new();
    private AgentTable _configured;
    private IReadOnlyList<AgentSettings> _issued = [];
    private KeptPolicyTable _kept = KeptPolicyTable.Empty;
    private volatile AgentTable _current;

    /// <param name="start">The agents of the settings at the start.</param>
    public AgentRegistry(AgentTable start) => _current = _configured = start;

    /// <summary>The current table. A decision reads it once.</summary>
    public AgentTable Current => _current;

    /// <summary>Replaces the agents of the settings.</summary>
    public void Replace(AgentTable table)
    {
        lock (_gate)
        {
            _configured = table;
            _current = table.With(_issued, _kept);
        }
    }

    /// <summary>Replaces the agents with tokens that the server keeps.</summary>
    public void ReplaceIssued(IReadOnlyList<AgentSettings> issued)
    {
        lock (_gate)
        {
            _issued = issued;
            _current = _configured.With(issued, _kept);
        }
    }

    /// <summary>Replaces the policies that the server keeps.</summary>
    public void ReplacePolicies(KeptPolicyTable kept)
    {
        lock (_gate)
        {
            _kept = kept;
            _current = _configured.With(_issued, kept);
        }
    }
}
