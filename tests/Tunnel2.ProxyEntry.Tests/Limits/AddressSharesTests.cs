using System.Net;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Tests.Limits;

public sealed class AddressSharesTests
{
    [Fact]
    public void An_address_has_its_share_and_others_have_theirs()
    {
        var shares = new AddressShares(10, 2);
        var (one, other) = (Key("192.0.2.1"), Key("192.0.2.2"));
        Assert.True(shares.TryTake(one));
        Assert.True(shares.TryTake(one));
        Assert.False(shares.TryTake(one));
        Assert.True(shares.TryTake(other));
        Assert.True(shares.TryTake(other));
        shares.Return(one);
        Assert.True(shares.TryTake(one));
        Assert.False(shares.TryTake(one));
    }

    [Theory]
    [InlineData(1, 50)]
    [InlineData(2, 33)]
    [InlineData(9, 10)]
    public void Addresses_that_take_all_they_get_leave_as_many_to_another(int addresses, int expected)
    {
        var shares = new AddressShares(100, 100);
        for (var i = 0; i < 100; i++)
        {
            for (var address = 1; address <= addresses; address++)
            {
                _ = shares.TryTake(Key($"192.0.2.{address}"));
            }
        }

        Assert.InRange(100 - shares.Count, expected, expected + 1);
        Assert.True(shares.TryTake(Key("192.0.2.77")));
    }

    [Fact]
    public void Each_of_many_addresses_gets_one_until_all_are_taken()
    {
        var shares = new AddressShares(3, 3);
        Assert.True(shares.TryTake(Key("192.0.2.1")) && shares.TryTake(Key("192.0.2.2")) && shares.TryTake(Key("192.0.2.3")));
        Assert.False(shares.TryTake(Key("192.0.2.4")));
        shares.Return(Key("192.0.2.2"));
        Assert.True(shares.TryTake(Key("192.0.2.4")));
    }

    [Fact]
    public void Addresses_of_one_64_and_unknown_ones_count_together_and_are_forgotten_when_they_have_nothing()
    {
        var shares = new AddressShares(10, 1);
        Assert.True(shares.TryTake(Key("2001:db8::1")));
        Assert.False(shares.TryTake(Key("2001:db8::2:3")));
        Assert.True(shares.TryTake(Key("2001:db8:0:1::1")));
        Assert.True(shares.TryTake(AddressKey.OfAny(null)));
        Assert.False(shares.TryTake(AddressKey.OfAny(null)));
        shares.Return(Key("2001:db8::2:3"));
        shares.Return(Key("2001:db8:0:1::1"));
        shares.Return(AddressKey.OfAny(null));
        Assert.Equal(0, shares.Count);
    }

    private static AddressKey Key(string address) => AddressKey.Of(IPAddress.Parse(address));
}
