using Tunnel2.ProxyEntry.Oidc;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

public sealed class OidcVisitsTests
{
    [Fact]
    public void A_tunnel_has_a_quarter_and_all_together_have_the_whole()
    {
        var visits = new OidcVisits(8);
        Assert.Equal(2, visits.MostOfTunnel);
        foreach (var tunnel in new[] { "a", "b", "c", "d" })
        {
            Assert.True(visits.TryBegin(tunnel) && visits.TryBegin(tunnel));
            Assert.False(visits.TryBegin(tunnel));
        }

        Assert.False(visits.TryBegin("e"));
        visits.End("a");
        Assert.False(visits.TryBegin("b"));
        Assert.True(visits.TryBegin("e"));
        Assert.False(visits.TryBegin("a"));
    }
}
