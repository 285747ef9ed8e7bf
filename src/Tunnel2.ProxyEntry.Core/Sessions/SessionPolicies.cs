using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Policies;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Sets the policies of sessions: by their agents, and by the settings of the server for their tokens.</summary>
internal static class SessionPolicies
{
    /// <summary>A REJECT has room for this many characters of mistakes.</summary>
    private const int LongestText = 900;

    /// <summary>Reads the policy that an agent sent.</summary>
    /// <param name="kind">What the session carries.</param>
    /// <param name="rules">What the agent sent.</param>
    /// <param name="knowsCountries">Whether the settings name the field with a visitor's country.</param>
    /// <param name="own">The policy; null: there is none.</param>
    /// <returns>Why the session cannot have it, or null.</returns>
    public static string? TryRead(SessionKind kind, AccessRules? rules, bool knowsCountries, out Policy? own)
    {
        own = null;
        if (rules is null || rules.Policy.IsEmpty)
        {
            return null;
        }

        if (kind != SessionKind.Http)
        {
            return "Only a tunnel of HTTP can have a policy; other tunnels take lists of addresses.";
        }

        var reading = PolicyReader.Read(rules.Policy.Span);
        if (reading.Policy is null)
        {
            return PlainText.Clean(
                "The policy: " + string.Join("; ", reading.Mistakes.Select(static mistake =>
                    mistake.Row == 0 ? mistake.Message : FormattableString.Invariant($"row {mistake.Row}: {mistake.Message}"))),
                LongestText);
        }

        own = reading.Policy;
        return own.AsksForCountry && !knowsCountries
            ? "The policy asks for visitors' countries, and the server's settings name no header of a trusted proxy that has them."
            : null;
    }

    /// <summary>Why a session cannot have the policies of the server, or null.</summary>
    /// <param name="kind">What it carries.</param>
    /// <param name="agents">The table with the policies.</param>
    /// <param name="grant">How the agent was admitted.</param>
    /// <param name="name">The session's name (lower case).</param>
    public static string? FindObstacle(SessionKind kind, AgentTable agents, AgentGrant? grant, string name) =>
        kind == SessionKind.Http ? null
        : !agents.PoliciesOf(grant, name).IsEmpty
            ? "The server has a policy for this token's tunnels or for this name, which only a tunnel of HTTP can have."
        : agents.Kept.CoveredBy(name) is [var first, ..]
            ? $"The server has a policy for {first.Target.Name}, which only a tunnel of HTTP can have, and the wildcard covers it."
        : null;

    /// <summary>Applies the policies to a session. Unchanged ones stay, so that a reload of the settings fills no bucket.</summary>
    public static void Apply(EntrySession session, AgentTable agents)
    {
        var forced = agents.PoliciesOf(session.Grant, session.Name);
        var covered = agents.Kept.CoveredBy(session.Name);
        if (session.Policy?.IsSameAs(forced, session.OwnPolicy, covered) != true)
        {
            session.Policy = SessionPolicy.Of(forced, session.OwnPolicy, session.Policy, covered);
        }
    }

    /// <summary>A session takes over what is left of the session that it replaces, so that a new connection fills no bucket.</summary>
    public static void Inherit(EntrySession session, EntrySession superseded)
    {
        if (superseded.Identity == session.Identity
            && superseded.Policy is { } policy
            && session.Policy?.IsSameAs(policy) == true)
        {
            session.Policy = policy;
        }
    }
}
