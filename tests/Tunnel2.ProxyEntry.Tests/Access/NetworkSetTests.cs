using System.Net;
using Tunnel2.ProxyEntry.Access;

namespace Tunnel2.ProxyEntry.Tests.Access;

public sealed class NetworkSetTests
{
    [Theory]
    [InlineData("10.0.0.0/8", "10.0.0.0", true)]
    [InlineData("10.0.0.0/8", "10.255.255.255", true)]
    [InlineData("10.0.0.0/8", "9.255.255.255", false)]
    [InlineData("10.0.0.0/8", "11.0.0.0", false)]
    [InlineData("10.0.0.0/8", "::ffff:10.1.2.3", true)]
    [InlineData("10.0.0.0/8", "::10.1.2.3", false)]
    [InlineData("0.0.0.0/0", "255.255.255.255", true)]
    [InlineData("0.0.0.0/0", "::1", false)]
    [InlineData("::/0", "1.2.3.4", false)]
    [InlineData("::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true)]
    [InlineData("::ffff:10.0.0.0/104", "10.9.9.9", true)]
    [InlineData("::ffff:10.0.0.0/104", "11.0.0.0", false)]
    [InlineData("192.0.2.7/32", "192.0.2.7", true)]
    [InlineData("192.0.2.7/32", "192.0.2.6", false)]
    [InlineData("2001:db8::/32", "2001:db8:ffff::1", true)]
    [InlineData("2001:db8::/32", "2001:db9::", false)]
    [InlineData("::1/128", "::1", true)]
    [InlineData("::1/128", "::2", false)]
    [InlineData("fe80::/10", "fe80::1%3", true)]
    public void An_address_is_in_a_network_or_not(string network, string address, bool isIn) =>
        Assert.Equal(isIn, NetworkSet.Of([IPNetwork.Parse(network)])!.Contains(IPAddress.Parse(address)));

    [Fact]
    public void Networks_may_overlap_touch_and_repeat()
    {
        var set = NetworkSet.Of(
        [
            .. new[] { "10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16", "11.0.0.0/8", "0.0.0.0/32", "255.255.255.255/32", "10.2.3.4/32" }
                .Select(static text => IPNetwork.Parse(text)),
        ])!;
        foreach (var (address, isIn) in new[]
        {
            ("10.0.0.1", true), ("10.1.2.3", true), ("10.255.0.0", true), ("11.255.255.255", true), ("12.0.0.0", false),
            ("0.0.0.0", true), ("0.0.0.1", false), ("255.255.255.255", true), ("255.255.255.254", false),
        })
        {
            Assert.Equal(isIn, set.Contains(IPAddress.Parse(address)));
        }
    }

    [Fact]
    public void Ten_thousand_networks_are_all_found_and_nothing_beside_them()
    {
        var networks = Enumerable.Range(0, 10_000).Select(static number => new IPNetwork(AddressOf(number * 2), 32)).ToList();
        var set = NetworkSet.Of([.. networks.OrderBy(static network => network.GetHashCode())])!;
        for (var i = 0; i < 10_000; i++)
        {
            Assert.True(set.Contains(AddressOf(i * 2)));
            Assert.False(set.Contains(AddressOf((i * 2) + 1)));
        }
    }

    /// <summary>Against a scan of all networks.</summary>
    [Fact]
    public void Random_sets_agree_with_a_scan()
    {
        var random = new Random(7);
        for (var round = 0; round < 50; round++)
        {
            var networks = Enumerable.Range(0, 1 + random.Next(40)).Select(_ => Random(random)).ToList();
            var set = NetworkSet.Of(networks)!;
            for (var i = 0; i < 200; i++)
            {
                var address = Random(random).BaseAddress;
                Assert.True(
                    networks.Exists(network => network.Contains(address)) == set.Contains(address),
                    $"{address} in {string.Join(' ', networks)}");
            }
        }

        static IPNetwork Random(Random random)
        {
            // Few values, so that networks hold addresses.
            var bytes = new byte[random.Next(2) == 0 ? 4 : 16];
            for (var i = 0; i < bytes.Length; i++)
            {
                bytes[i] = (byte)random.Next(4);
            }

            var bits = random.Next((bytes.Length * 8) + 1);
            for (var bit = bits; bit < bytes.Length * 8; bit++)
            {
                bytes[bit / 8] &= (byte)~(0x80 >> (bit % 8));
            }

            return new IPNetwork(new IPAddress(bytes), bits);
        }
    }

    [Fact]
    public void No_network_is_no_set() => Assert.Null(NetworkSet.Of([]));

    private static IPAddress AddressOf(int number) => new([10, (byte)(number >> 16), (byte)(number >> 8), (byte)number]);
}
