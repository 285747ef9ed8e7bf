using System.Net;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Tests.Sockets;

public sealed class AddressTextTests
{
    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("0.0.0.0")]
    [InlineData("255.255.255.255")]
    [InlineData("::")]
    [InlineData("2001:DB8::1", "2001:db8::1")]
    [InlineData("::ffff:10.0.0.1")]
    public void An_address_is_read(string text, string? shown = null)
    {
        Assert.True(AddressText.TryRead(text, out var address));
        Assert.Equal(shown ?? text, address.ToString());
        Assert.True(AddressText.TryReadLocal(text, out var local));
        Assert.Equal(address, local);
    }

    /// <summary>Each of these is an address to <see cref="IPAddress"/> or looks like one.</summary>
    [Theory]
    [InlineData("")]
    [InlineData("1")]
    [InlineData("10.1")]
    [InlineData("1.2.3")]
    [InlineData("010.0.0.1")]
    [InlineData("10.0.0.08")]
    [InlineData("0x7f.0.0.1")]
    [InlineData("1.2.3.4.5")]
    [InlineData("1.2.3.256")]
    [InlineData("1.2.3.4:80")]
    [InlineData("[::1]")]
    [InlineData("[::1]:80")]
    [InlineData("::1]")]
    [InlineData("::ffff:010.0.0.1")]
    [InlineData("1::2::3")]
    [InlineData("fe80::1%")]
    [InlineData("fe80::1%1]")]
    [InlineData("fe80::1%1%1")]
    [InlineData("127.0.0.1%1")]
    [InlineData(" ::1")]
    [InlineData("::1/64")]
    [InlineData("１.2.3.4")]
    public void What_only_a_lenient_parser_takes_is_refused(string text)
    {
        Assert.False(AddressText.TryRead(text, out var address));
        Assert.Equal(IPAddress.None, address);
        Assert.False(AddressText.TryReadLocal(text, out address));
        Assert.Equal(IPAddress.None, address);
    }

    [Fact]
    public void A_zone_is_read_where_the_text_is_of_this_machine()
    {
        Assert.False(AddressText.TryRead("fe80::1%3", out _));
        Assert.True(AddressText.TryReadLocal("fe80::1%3", out var address));
        Assert.Equal(3, address.ScopeId);
        Assert.True(AddressText.TryReadLocal("fe80::1%lo", out _));
    }

    [Theory]
    [InlineData("10.0.0.1:80", "10.0.0.1")]
    [InlineData("[2001:db8::1]:80", "2001:db8::1")]
    [InlineData("[2001:db8::1]", "2001:db8::1")]
    [InlineData("2001:db8::1", "2001:db8::1")]
    [InlineData("10.0.0.1:", null)]
    [InlineData("10.0.0.1:65536", null)]
    [InlineData("[10.0.0.1]", null)]
    [InlineData("[fe80::1%1]", null)]
    [InlineData("[::1", null)]
    [InlineData("unknown", null)]
    public void An_address_of_a_proxy_may_have_a_port(string text, string? address) =>
        Assert.Equal(address, AddressText.ReadForwarded(text)?.ToString());

    [Theory]
    [InlineData("10.0.0.0/8", "10.0.0.0/8", null)]
    [InlineData("10.1.2.3", "10.1.2.3/32", null)]
    [InlineData("2001:db8::/32", "2001:db8::/32", null)]
    [InlineData("::1", "::1/128", null)]
    [InlineData("0.0.0.0/0", "0.0.0.0/0", null)]
    [InlineData("010.0.0.0/8", null, "is neither an IP address nor a network such as 10.0.0.0/8")]
    [InlineData("::010.0.0.1", null, "is neither an IP address nor a network such as 10.0.0.0/8")]
    [InlineData("/8", null, "is neither an IP address nor a network such as 10.0.0.0/8")]
    [InlineData("10.0.0.0/33", null, "has a prefix length that is not between 0 and 32")]
    [InlineData("10.0.0.0/", null, "has a prefix length that is not between 0 and 32")]
    [InlineData("10.0.0.0/+8", null, "has a prefix length that is not between 0 and 32")]
    [InlineData("::/129", null, "has a prefix length that is not between 0 and 128")]
    [InlineData("10.1.2.3/8", null, "has bits set after its prefix; did you mean 10.0.0.0/8?")]
    [InlineData("2001:db8::1/33", null, "has bits set after its prefix; did you mean 2001:db8::/33?")]
    public void A_network_is_read_or_the_mistake_said(string text, string? network, string? mistake)
    {
        Assert.Equal(mistake, AddressText.ReadNetwork(text, out var read));
        Assert.Equal(network, mistake is null ? read.ToString() : null);
    }
}
