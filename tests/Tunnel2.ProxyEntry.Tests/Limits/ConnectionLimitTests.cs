using System.Collections.Immutable;
using System.Net;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Tests.Limits;

public sealed class ConnectionLimitTests
{
    private static readonly IPAddress _one = IPAddress.Parse("192.0.2.1");
    private static readonly IPAddress _other = IPAddress.Parse("192.0.2.2");

    [Fact]
    public void One_address_gets_its_share_and_others_get_theirs()
    {
        var refused = new List<IPAddress>();
        var limit = new ConnectionLimit("visitors", 10, 2) { AddressFull = refused.Add };
        Assert.True(limit.TryEnter(_one, out var first));
        Assert.True(limit.TryEnter(_one.MapToIPv6(), out _));
        Assert.True(limit.IsAddressFull(_one));
        Assert.False(limit.TryEnter(_one, out _));
        Assert.Equal([_one], refused);
        Assert.True(limit.TryEnter(_other, out _));
        Assert.Equal(3, limit.Count);
        limit.Leave(first);
        Assert.True(limit.TryEnter(_one, out _));
    }

    [Theory]
    [InlineData(1, 50)]
    [InlineData(2, 33)]
    [InlineData(9, 10)]
    public void Addresses_that_take_all_they_get_leave_as_many_places_to_another(int addresses, int expected)
    {
        var limit = new ConnectionLimit("handshakes", 100, 50, leavesRoom: true);
        for (var i = 0; i < 100; i++)
        {
            for (var address = 1; address <= addresses; address++)
            {
                _ = limit.TryEnter(IPAddress.Parse($"192.0.2.{address}"), out _);
            }
        }

        Assert.InRange(limit.Most - limit.Count, expected, expected + 1);
        Assert.True(limit.IsOpen);
        Assert.True(limit.IsAddressFull(IPAddress.Parse("192.0.2.1")));
        Assert.False(limit.IsAddressFull(IPAddress.Parse("192.0.2.77")));
        Assert.True(limit.TryEnter(IPAddress.Parse("192.0.2.77"), out _));
    }

    [Fact]
    public void Where_no_place_is_free_an_address_that_has_none_waits_for_one_and_others_do_not()
    {
        var limit = new ConnectionLimit("handshakes", 3, 2, leavesRoom: true);
        var other = IPAddress.Parse("192.0.2.77");
        Assert.True(limit.TryEnter(_one, out var place));
        Assert.True(limit.TryEnter(IPAddress.Parse("192.0.2.2"), out _));
        Assert.True(limit.TryEnter(IPAddress.Parse("192.0.2.3"), out _));
        Assert.Equal((false, true, false), (limit.IsOpen, limit.IsAddressFull(_one), limit.IsAddressFull(other)));
        limit.Leave(place);
        Assert.True(limit.TryEnter(other, out _));
    }

    [Fact]
    public void IPv6_counts_by_64_bits()
    {
        var limit = new ConnectionLimit("visitors", 10, 1);
        Assert.True(limit.TryEnter(IPAddress.Parse("2001:db8:1:2::1"), out _));
        Assert.False(limit.TryEnter(IPAddress.Parse("2001:db8:1:2:ffff::9"), out _));
        Assert.True(limit.TryEnter(IPAddress.Parse("2001:db8:1:3::1"), out _));
    }

    [Fact]
    public void A_trusted_proxy_speaks_for_many_visitors()
    {
        var limit = new ConnectionLimit("visitors", 10, 1, new TrustedProxySet(ImmutableArray.Create(IPNetwork.Parse("192.0.2.1/32"))));
        Assert.True(limit.TryEnter(_one, out var place));
        Assert.True(limit.TryEnter(_one, out _));
        limit.Leave(place);
        Assert.Equal(1, limit.Count);
    }

    [Fact]
    public void A_sender_that_waits_is_informed_once_when_there_is_room()
    {
        var full = 0;
        var resumed = 0;
        var limit = new ConnectionLimit("visitors", 2, 2) { Full = () => full++ };
        limit.TryEnter(_one, out var first);
        Assert.True(limit.IsOpen);
        limit.TryEnter(_one, out var second);
        Assert.False(limit.IsOpen);
        limit.WhenOpen(() => resumed++);
        Assert.Equal((1, 0, true), (full, resumed, limit.HasWaiting));
        limit.Leave(first);
        limit.Leave(second);
        Assert.Equal((1, 1, false), (full, resumed, limit.HasWaiting));
        limit.WhenOpen(() => resumed++);
        Assert.Equal((1, 2), (full, resumed));
    }

    [Fact]
    public void A_higher_limit_lets_in_who_waits()
    {
        var resumed = 0;
        var limit = new ConnectionLimit("visitors", 1, 1);
        limit.TryEnter(_one, out _);
        limit.WhenOpen(() => resumed++);
        limit.Set(2, 2);
        Assert.Equal(1, resumed);
    }
}
