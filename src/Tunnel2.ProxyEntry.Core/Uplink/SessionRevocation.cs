using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// Applies a table of agents to sessions: ends those whose agent lost its token, certificate or name, and sets tier and access
/// rules of the others.
/// Thread-safe.
/// </summary>
internal sealed class SessionRevocation
{
    private readonly Lock _gate = new();
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
        return SettleAll();
    }

    /// <summary>Applies the current table to all sessions.</summary>
    /// <returns>How many were ended.</returns>
    public int SettleAll() => _directory.Snapshot().Count(Settle);

    /// <summary>
    /// Ends a session that the current table does not grant; otherwise sets its tier. Also called after a registration, because the table
    /// may have changed between the admission and the moment from which <see cref="Apply"/> finds the session.
    /// </summary>
    /// <returns>Whether it was ended.</returns>
    public bool Settle(EntrySession session)
    {
        string? obstacle;
        lock (_gate)
        {
            // Read under the gate, so that no older table is applied after a newer one.
            var agents = _agents.Current;
            obstacle = agents.StillGrants(session.Grant, session.Name)
                ? SessionAccess.FindObstacle(session.Kind, session.OwnRules, agents, session.Grant)
                    ?? SessionPolicies.FindObstacle(session.Kind, agents, session.Grant, session.Name)
                    ?? SessionWebhooks.FindObstacle(session.Kind, session.OwnRules, agents.WebhookOf(session.Grant))
                : agents.HasExpired(session.Grant) ? "The agent's token has expired."
                : "The agent's token, certificate or right to the name was withdrawn.";
            if (obstacle is null)
            {
                SessionTiers.Apply(session, agents);
                SessionAccess.Apply(session, agents);
                SessionPolicies.Apply(session, agents);
                SessionWebhooks.Apply(session, agents);
                return false;
            }
        }

        ProxyEntryLog.SessionRevoked(_logger, session.Identity.ToString(), session.Name, session.DisplayId);
        session.Tunnel.End(SessionEndReason.Revoked, obstacle);
        return true;
    }
}
