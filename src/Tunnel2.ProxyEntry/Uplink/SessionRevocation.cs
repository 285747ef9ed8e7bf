using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>Ends the sessions whose agent lost its token, certificate or name, and no others. Thread-safe.</summary>
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

    /// <summary>Lets another table of agents hold, and ends what it no longer grants.</summary>
    /// <returns>How many sessions were ended.</returns>
    public int Apply(AgentTable table)
    {
        _agents.Replace(table);
        return _directory.Snapshot().Count(EndIfRevoked);
    }

    /// <summary>
    /// Ends a session that the present table does not grant. Called behind a registration too: the table may have changed between the
    /// admission and the moment from which <see cref="Apply"/> finds the session.
    /// </summary>
    /// <returns>Whether it was ended.</returns>
    public bool EndIfRevoked(EntrySession session)
    {
        if (_agents.Current.StillGrants(session.Grant, session.Name))
        {
            return false;
        }

        ProxyEntryLog.SessionRevoked(_logger, session.Identity.ToString(), session.Name, session.DisplayId);
        session.Tunnel.End(SessionEndReason.Revoked, "The agent's token, certificate or right to the name was withdrawn.");
        return true;
    }
}
