using System.Net;
using Tunnel2.ProxyEntry.Domains;

namespace Tunnel2.ProxyEntry.Tests.Domains;

public sealed class PublicNetworksTests
{
    [Theory]
    [InlineData("8.8.8.8")]
    [InlineData("100.63.255.255")]
    [InlineData("172.32.0.1")]
    [InlineData("223.255.255.255")]
    [InlineData("2606:4700::1111")]
    [InlineData("::ffff:8.8.8.8")]
    public void Others_can_be_called(string address) => Assert.True(PublicNetworks.Has(IPAddress.Parse(address)));

    [Theory]
    [InlineData("0.0.0.0")]
    [InlineData("10.1.2.3")]
    [InlineData("100.64.0.1")]
    [InlineData("127.0.0.1")]
    [InlineData("127.255.255.255")]
    [InlineData("169.254.169.254")]
    [InlineData("172.16.0.1")]
    [InlineData("172.31.255.255")]
    [InlineData("192.0.0.8")]
    [InlineData("192.168.1.1")]
    [InlineData("198.19.0.1")]
    [InlineData("203.0.113.7")]
    [InlineData("224.0.0.1")]
    [InlineData("255.255.255.255")]
    [InlineData("::")]
    [InlineData("::1")]
    [InlineData("::ffff:127.0.0.1")]
    [InlineData("::ffff:10.0.0.1")]
    [InlineData("::7f00:1")]
    [InlineData("64:ff9b::7f00:1")]
    [InlineData("fc00::1")]
    [InlineData("fd12::1")]
    [InlineData("fe80::1")]
    [InlineData("ff02::1")]
    [InlineData("2001::1")]
    [InlineData("2001:db8::1")]
    [InlineData("2002:7f00:1::")]
    public void Those_of_the_machine_and_of_private_networks_cannot(string address) =>
        Assert.False(PublicNetworks.Has(IPAddress.Parse(address)));
}
