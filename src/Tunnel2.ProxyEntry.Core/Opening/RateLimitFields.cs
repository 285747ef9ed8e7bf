using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>Adds to a response how much of its session's limit is left (draft-ietf-httpapi-ratelimit-headers-10).</summary>
internal static class RateLimitFields
{
    public static void Describe(SessionRateLimit limit, ExchangeExtras extras)
    {
        extras.AddResponseField("RateLimit-Policy"u8, limit.Policy);
        Span<byte> state = stackalloc byte[64];
        extras.AddResponseField("RateLimit"u8, state[..limit.WriteState(state)]);
    }
}
