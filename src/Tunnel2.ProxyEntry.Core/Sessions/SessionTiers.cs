using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.RateLimits;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>Gives sessions the limit of their tier.</summary>
internal static class SessionTiers
{
    /// <summary>
    /// Lets the table's tier hold for a session. A limit that is the same as before keeps its bucket: a reload of the settings is no gift.
    /// </summary>
    public static void Apply(EntrySession session, AgentTable agents)
    {
        var tier = agents.TierOf(session.Grant);
        if (session.RateLimit?.Tier != tier)
        {
            session.RateLimit = tier is null ? null : new SessionRateLimit(tier);
        }
    }

    /// <summary>A session takes the place of another of the same agent, and its bucket: reconnecting is no gift either.</summary>
    public static void Inherit(EntrySession session, EntrySession superseded)
    {
        if (superseded.Identity == session.Identity && superseded.RateLimit is { } limit && limit.Tier == session.RateLimit?.Tier)
        {
            session.RateLimit = limit;
        }
    }
}
