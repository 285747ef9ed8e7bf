using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Sets the limits of sessions from their tiers.</summary>
internal static class SessionTiers
{
    /// <summary>
    /// Applies the tier of the table to a session. An unchanged limit keeps its bucket, so a reload of the settings does not fill it.
    /// </summary>
    public static void Apply(EntrySession session, AgentTable agents)
    {
        var tier = agents.TierOf(session.Grant);
        if (session.RateLimit?.Tier == tier)
        {
            return;
        }

        var limit = tier is null ? null : new SessionRateLimit(tier, session.UplinkSettings.TimeProvider);
        if (session.RateLimit is { } before)
        {
            limit?.TakeShareOf(before);
        }

        session.RateLimit = limit;
    }

    /// <summary>A session takes over the bucket of the session that it replaces, so a new connection does not fill it.</summary>
    public static void Inherit(EntrySession session, EntrySession superseded)
    {
        if (superseded.Identity == session.Identity && superseded.RateLimit is { } limit && limit.Tier == session.RateLimit?.Tier)
        {
            session.RateLimit = limit;
        }
    }
}
