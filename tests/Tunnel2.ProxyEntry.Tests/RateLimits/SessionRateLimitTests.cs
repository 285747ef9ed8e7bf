using System.Diagnostics;
using System.Text;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.RateLimits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.RateLimits;

public sealed class SessionRateLimitTests
{
    [Theory]
    [InlineData(10, 10)]
    [InlineData(100, 5)]
    [InlineData(1500, 40)]
    [InlineData(1_000_000, 1)]
    public void Never_more_than_the_burst_and_what_the_time_has_earned(int rate, int burst)
    {
        var limit = new SessionRateLimit(new RateTier("t", rate, burst));
        var clock = Stopwatch.StartNew();
        var taken = 0;
        while (clock.ElapsedMilliseconds < 250)
        {
            taken += limit.TryTake() ? 1 : 0;
            Assert.True(taken <= burst + (clock.Elapsed.TotalSeconds * rate) + 1, $"{taken} of {rate}/s in {clock.Elapsed}");
        }

        Assert.True(taken >= burst, $"{taken} is less than the burst.");
    }

    [Fact]
    public void Time_gives_back_what_was_taken()
    {
        var time = new ManualTimeProvider();
        var limit = new SessionRateLimit(new RateTier("t", 100, 1), time);
        Assert.True(limit.TryTake());
        time.Advance(TimeSpan.FromMilliseconds(9));
        Assert.False(limit.TryTake());
        time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.True(limit.TryTake());
    }

    [Fact]
    public void What_is_left_is_reported_in_the_words_of_the_draft()
    {
        var limit = new SessionRateLimit(new RateTier("secret-plan", 2, 7));
        limit.TryTake();
        var extras = new ExchangeExtras();
        RateLimitFields.Describe(limit, extras);
        Assert.Equal(
            "RateLimit-Policy: \"tunnel\";q=7;w=4\r\nRateLimit: \"tunnel\";r=6;t=1\r\n", Encoding.ASCII.GetString(extras.ResponseLines));
    }

    [Fact]
    public void A_change_of_settings_keeps_the_bucket_of_a_tier_that_stays_and_a_new_session_that_of_the_one_it_replaces()
    {
        var grant = new AgentGrant("a", null, null);
        var before = Table("Agents:a:Tier=free");
        var session = Sample.Session("web", grant: grant);
        SessionTiers.Apply(session, before);
        var limit = session.RateLimit;
        Assert.Equal(new RateTier("free", 10, 10), limit?.Tier);
        SessionTiers.Apply(session, Table("Agents:a:Tier=free", "Tiers:other:RequestsPerSecond=3"));
        Assert.Same(limit, session.RateLimit);

        var successor = Sample.Session("web", grant: grant);
        SessionTiers.Apply(successor, before);
        Assert.NotSame(limit, successor.RateLimit);
        SessionTiers.Inherit(successor, session);
        Assert.Same(limit, successor.RateLimit);

        SessionTiers.Apply(session, Table("Agents:a:Tier=free", "Tiers:free:RequestsPerSecond=11"));
        Assert.Equal(new RateTier("free", 11, 11), session.RateLimit?.Tier);
        SessionTiers.Apply(session, Table("Agents:a:Tier=enterprise"));
        Assert.Null(session.RateLimit);
    }

    [Fact]
    public void An_agent_without_a_tier_or_a_token_is_unlimited()
    {
        var table = Table();
        Assert.Null(table.TierOf(null));
        Assert.Null(table.TierOf(new AgentGrant("a", null, null)));
        Assert.Null(table.TierOf(new AgentGrant("gone", null, null)));
    }

    private static AgentTable Table(params string[] settings) =>
        SettingsFixture.LoadValid(["Agents:a:TokenHash=" + SettingsFixture.HashSetting("t"), .. settings]).Agents;
}
