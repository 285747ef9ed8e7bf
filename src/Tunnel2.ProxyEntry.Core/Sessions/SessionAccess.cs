using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Access.Oidc;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Sets who may visit sessions: by their agents' rules, and by the rules of the server for their tokens.</summary>
internal static class SessionAccess
{
    /// <summary>
    /// Applies the rules of the table to a session. Unchanged rules stay, so that a reload of the settings forgets no login that was right.
    /// </summary>
    public static void Apply(EntrySession session, AgentTable agents)
    {
        var forced = agents.AccessOf(session.Grant);
        if (session.Access is null
            ? session.OwnAccess is null && forced is null
            : forced is null ? session.ForcedAccess is null : forced.IsSameAs(session.ForcedAccess))
        {
            return;
        }

        var sets = new List<AccessSet>();
        if (session.OwnAccess is { } own)
        {
            sets.Add(own);
        }

        if (forced is not null)
        {
            sets.Add(new AccessSet(forced.Users, forced.Allowed, forced.Denied)
            {
                Tokens = TokensOf(forced),
                Gate = forced.Gate,
                Authorities = forced.Authorities is { } authorities ? new ClientAuthoritySet(authorities) : null,
            });
        }

        session.ForcedAccess = forced;
        var gate = sets.Find(static set => set.Gate is not null)?.Gate;
        session.Access = sets.Count == 0 ? null : new AccessPolicy([.. sets], session.Logins)
        {
            Tunnel = session.Name,
            Owner = session.Holder ?? session.Owner.Value,
            Place = gate is null ? null : new SignInPlace(gate, session.Name),
        };
    }

    /// <summary>The agent's rules, as they are checked; null: there are none.</summary>
    public static AccessSet? OwnOf(AccessRules? rules, AgentTable agents) => AccessSet.Of(
        rules,
        rules?.Tokens is { } tokens && agents.FindIssuer(tokens.Issuer) is { } issuer ? new BearerRule(issuer, tokens.Audience) : null);

    /// <summary>Why a session cannot have its rules, or null.</summary>
    /// <param name="kind">What it carries.</param>
    /// <param name="own">The agent's rules.</param>
    /// <param name="agents">The table with the server's rules for its token, and with what agents may ask for.</param>
    /// <param name="grant">How the agent was admitted.</param>
    public static string? FindObstacle(SessionKind kind, AccessRules? own, AgentTable agents, AgentGrant? grant)
    {
        var forced = agents.AccessOf(grant);
        return own is { HasUnknown: true } ? "The server does not know one of the access rules; update it."
            : own is { ClientAuthorities.Count: > 0 } && ClientAuthoritySet.TryRead(own.ClientAuthorities) is null
                ? "One of the authorities for visitors' certificates is no certificate."
            : FindObstacle(own?.Tokens, forced?.Tokens, agents)
            ?? FindObstacle(own?.Gate, forced?.Gate, agents)
            ?? (kind == SessionKind.Http ? FindContradiction(own, forced) : FindObstacle(own, forced));
    }

    private static BearerRule? TokensOf(ForcedAccess forced) =>
        forced.Tokens is { } tokens ? new BearerRule(tokens.Issuer, tokens.Audience) : null;

    private static string? FindObstacle(AccessTokens? own, ForcedTokens? forced, AgentTable agents) =>
        own is null ? null
        : agents.FindIssuer(own.Issuer) is null
            ? $"Agents of this server may not ask for tokens of {own.Issuer}: it is not in Tunnel2:Access:JwtIssuers."
        : forced is not null && forced.Issuer.Name != own.Issuer
            ? $"The server asks visitors of this token's tunnels for tokens of {forced.Issuer.Name}, and a visitor shows only one."
        : null;

    private static string? FindObstacle(string? own, string? forced, AgentTable agents) =>
        own is null ? null
        : !agents.Gates.Contains(own) ? $"This server has no gate {own} where visitors could sign in (Tunnel2:Oidc)."
        : forced is not null && forced != own
            ? $"The server has visitors of this token's tunnels sign in at {forced}, and a visitor signs in at one gate only."
        : null;

    /// <summary>A login and a token are in the same field, so a visitor cannot have both.</summary>
    private static string? FindContradiction(AccessRules? own, ForcedAccess? forced) =>
        (own?.Tokens is not null || forced?.Tokens is not null) && (own is { Users.Count: > 0 } || forced is { Users.IsEmpty: false })
            ? "One rule asks visitors for a login and another for a token (JWT), and a visitor cannot show both."
        : (own?.Gate ?? forced?.Gate) is not null && (own is { Users.Count: > 0 } or { Tokens: not null }
            || forced is { Users.IsEmpty: false } or { Tokens: not null })
            ? "One rule has visitors sign in and another asks for a login or a token (JWT): only one of these is possible."
            : null;

    private static string? FindObstacle(AccessRules? own, ForcedAccess? forced) =>
        own is { ClientAuthorities.Count: > 0 } || forced?.Authorities is not null
            ? "Visitors can show certificates to a tunnel of HTTP only; other tunnels take lists of addresses."
        : (own?.Gate ?? forced?.Gate) is not null
            ? "Visitors can sign in to a tunnel of HTTP only; other tunnels take lists of addresses."
        : own?.Tokens is not null || forced?.Tokens is not null
            ? "Visitors can show tokens (JWT) to a tunnel of HTTP only; other tunnels take lists of addresses."
        : own is { Users.Count: > 0 } ? "Visitors can log in to a tunnel of HTTP only; other tunnels take lists of addresses."
        : forced is { Users.IsEmpty: false } ? "Visitors of this token's tunnels have to log in, which only a tunnel of HTTP can ask for."
        : null;
}
