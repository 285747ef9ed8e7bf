using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// Applies a table of agents to sessions: ends those whose agent lost its token, certificate or name, and sets the tier of the others.
/// Thread-safe.
/// </summary>
internal sealed class SessionRevocation
{
    private readonly AgentRegistry _agents;
    private readonly ISessionDirectory _directory;
    private readonly ILogger _logger;

    public SessionRevocation(AgentRegistry agents, ISessionDirectory directory, ILogger<SessionRevocation> logger)
    {
        _agents = agents;
        _directory = directory;
        _logger = logger;
    }

    /// <summary>Replaces the table of agents, ends sessions that it does not grant, and sets the tiers of the rest.</summary>
    /// <returns>How many sessions were ended.</returns>
    public int Apply(AgentTable table)
    {
        _agents.Replace(table);
        return _directory.Snapshot().Count(Settle);
    }

    /// <summary>
    /// Ends a session that the current table does not grant; otherwise sets its tier. Also called after a registration, because the table
    /// may have changed between the admission and the moment from which <see cref="Apply"/> finds the session.
    /// </summary>
    /// <returns>Whether it was ended.</returns>
    public bool Settle(EntrySession session)
    {
        if (_agents.Current.StillGrants(session.Grant, session.Name))
        {
            SessionTiers.Apply(session, _agents.Current);
            return false;
        }

        ProxyEntryLog.SessionRevoked(_logger, session.Identity.ToString(), session.Name, session.DisplayId);
        session.Tunnel.End(SessionEndReason.Revoked, "The agent's token, certificate or right to the name was withdrawn.");
        return true;
    }
}
