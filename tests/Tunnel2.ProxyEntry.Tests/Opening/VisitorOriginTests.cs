using System.Net;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;

namespace Tunnel2.ProxyEntry.Tests.Opening;

public sealed class VisitorOriginTests
{
    [Theory]
    [InlineData("", "192.0.2.9")]
    [InlineData("203.0.113.5", "203.0.113.5")]
    [InlineData("1.1.1.1, 203.0.113.5", "203.0.113.5")]
    [InlineData("1.1.1.1,203.0.113.5,10.0.0.7", "203.0.113.5")]
    [InlineData("203.0.113.5, 10.0.0.7, 10.0.0.8, ", "203.0.113.5")]
    [InlineData("10.0.0.7, 10.0.0.8", "10.0.0.7")]
    [InlineData("203.0.113.5:4711", "203.0.113.5")]
    [InlineData("[2001:db8::1]:4711", "2001:db8::1")]
    [InlineData("2001:db8::1", "2001:db8::1")]
    [InlineData("::ffff:10.0.0.7", "::ffff:10.0.0.7")]
    [InlineData("1.1.1.1, unknown", null)]
    [InlineData("1.1.1.1, _hidden", null)]
    [InlineData("1.1.1.1, 7", null)]
    [InlineData("1.1.1.1, 999.1.1.1", null)]
    [InlineData("unknown, 203.0.113.5", "203.0.113.5")]
    [InlineData("[2001:db8::1]", "2001:db8::1")]
    [InlineData("0.0.0.0:65535", "0.0.0.0")]
    [InlineData("::ffff:203.0.113.5", "::ffff:203.0.113.5")]
    [InlineData("2001:DB8::A", "2001:db8::a")]
    [InlineData("010.0.0.1", null)]
    [InlineData("203.0.113.05", null)]
    [InlineData("203.0.113.5:", null)]
    [InlineData("203.0.113.5:x", null)]
    [InlineData("203.0.113.5:65536", null)]
    [InlineData("203.0.113.5:+80", null)]
    [InlineData("203.0.113.5:000080", null)]
    [InlineData("203.0.113", null)]
    [InlineData("203.0.113.", null)]
    [InlineData("203.0.113.256", null)]
    [InlineData("203.0.113.5.6", null)]
    [InlineData("0x7f.1", null)]
    [InlineData("0x7f.0.0.1", null)]
    [InlineData("1", null)]
    [InlineData("2130706433", null)]
    [InlineData("[203.0.113.5]", null)]
    [InlineData("[2001:db8::1", null)]
    [InlineData("[2001:db8::1]4711", null)]
    [InlineData("[2001:db8::1]:", null)]
    [InlineData("[[2001:db8::1]]", null)]
    [InlineData("2001:db8::1%1", null)]
    [InlineData("fe80::1%eth0", null)]
    [InlineData("2001:db8::1/64", null)]
    [InlineData("::ffff:010.0.0.7", null)]
    [InlineData("::0x7f.0.0.1", null)]
    public void The_last_that_is_no_trusted_proxy_is_the_visitor(string forwardedFor, string? address) =>
        Assert.Equal(address, Find(forwardedFor));

    /// <summary>A visitor makes the field long, so that what the proxy adds would be cut off.</summary>
    [Theory]
    [InlineData(500)]
    [InlineData(511)]
    [InlineData(512)]
    [InlineData(5_000)]
    [InlineData(60_000)]
    public void However_long_the_field_is_its_end_counts(int length)
    {
        var own = string.Concat(Enumerable.Repeat("10.9.9.9,", (length / 9) + 1))[..length];
        Assert.Equal("203.0.113.5", Find(own + ",203.0.113.5"));
    }

    private static string? Find(string forwardedFor) => VisitorOrigin.Find(
        new ScriptedVisitor { From = IPAddress.Parse("192.0.2.9"), ForwardedFor = forwardedFor },
        SettingsFixture.LoadValid("TrustedProxies=10.0.0.0/8,192.0.2.9").TrustedProxies)?.ToString();
}
