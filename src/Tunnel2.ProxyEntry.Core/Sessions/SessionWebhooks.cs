using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access.Webhooks;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Sets which signatures requests need: by the sessions' agents, and by the settings of the server for their tokens.</summary>
internal static class SessionWebhooks
{
    /// <summary>Why a session cannot have its rules, or null.</summary>
    public static string? FindObstacle(SessionKind kind, AccessRules? own, WebhookRule? forced) => kind == SessionKind.Http ? null
        : own?.Webhook is not null ? "Only a tunnel of HTTP can want signatures of webhooks."
        : forced is not null ? "The requests to this token's tunnels have to be signed, which only a tunnel of HTTP can want."
        : null;

    /// <summary>Applies the rules to a session; unchanged ones stay.</summary>
    public static void Apply(EntrySession session, AgentTable agents)
    {
        var forced = agents.WebhookOf(session.Grant);
        var own = session.OwnRules?.Webhook;
        if (forced is null && own is null)
        {
            session.Webhooks = null;
        }
        else if (session.Webhooks?.IsSameAs(forced, own) != true)
        {
            session.Webhooks = new WebhookPolicy(forced, own, session.Owner.Value);
        }
    }
}
