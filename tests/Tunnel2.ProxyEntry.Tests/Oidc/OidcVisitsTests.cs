using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Oidc;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

public sealed class OidcVisitsTests
{
    private static readonly AddressKey _one = new(1, 0);
    private static readonly AddressKey _other = new(2, 0);

    [Fact]
    public void A_tunnel_has_a_quarter_and_all_together_have_the_whole()
    {
        var visits = new OidcVisits(8);
        var visitors = 0ul;
        Assert.Equal(2, visits.MostOfTunnel);
        foreach (var tunnel in new[] { "a", "b", "c", "d" })
        {
            Assert.True(TryBegin(tunnel) && TryBegin(tunnel));
            Assert.False(TryBegin(tunnel));
        }

        Assert.False(TryBegin("e"));
        visits.End("a", new AddressKey(1, 0));
        Assert.False(TryBegin("b"));
        Assert.True(TryBegin("e"));
        Assert.False(TryBegin("a"));

        bool TryBegin(string tunnel) => visits.TryBegin(tunnel, new AddressKey(1, visitors++));
    }

    [Fact]
    public void One_address_has_half_of_what_a_tunnel_has_at_all_tunnels_together()
    {
        var visits = new OidcVisits(16);
        Assert.Equal((4, 2), (visits.MostOfTunnel, visits.MostOfAddress));
        Assert.True(visits.TryBegin("a", _one) && visits.TryBegin("b", _one));
        Assert.False(visits.TryBegin("a", _one));
        Assert.True(visits.TryBegin("a", _other));
        visits.End("b", _one);
        Assert.True(visits.TryBegin("a", _one));
        Assert.False(visits.TryBegin("c", _one));
    }

    [Theory]
    [InlineData(2)]
    [InlineData(4)]
    public void Addresses_that_take_all_they_get_at_a_tunnel_leave_places_to_another(int addresses)
    {
        var visits = new OidcVisits(64);
        for (var i = 0; i < 64; i++)
        {
            for (var address = 1; address <= addresses; address++)
            {
                _ = visits.TryBegin("a", new AddressKey(1, (ulong)address));
            }
        }

        Assert.True(visits.TryBegin("a", _other) && visits.TryBegin("a", _other));
    }

    [Fact]
    public void Addresses_that_take_all_they_get_at_all_tunnels_leave_places_to_another()
    {
        var visits = new OidcVisits(64);
        for (var i = 0; i < 8 * 64; i++)
        {
            _ = visits.TryBegin("abcdefgh"[i % 8].ToString(), new AddressKey(1, (ulong)(i / 64)));
        }

        Assert.True(visits.TryBegin("z", _other));
    }

    [Fact]
    public void What_a_full_tunnel_refuses_takes_nothing_of_its_visitors_share()
    {
        var visits = new OidcVisits(8);
        Assert.True(visits.TryBegin("a", _one) && visits.TryBegin("a", _other));
        Assert.False(visits.TryBegin("a", new AddressKey(3, 0)));
        Assert.True(visits.TryBegin("b", new AddressKey(3, 0)));
    }
}
