using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Ports.Tests;

public sealed class PortsOptionsTests
{
    [Fact]
    public void Names_and_addresses_are_taken_in_their_order()
    {
        var options = PortsOptions.Parse(
            ["--socket", "/run/a.sock", "uplink=127.0.0.1:12001", "public=[::1]:0", "admin=localhost:12002"], out var mistake);

        Assert.Equal("", mistake);
        Assert.Equal("/run/a.sock", options!.Path);
        Assert.Equal(
            [
                ("uplink", new IPEndPoint(IPAddress.Loopback, 12001)), ("public", new IPEndPoint(IPAddress.IPv6Loopback, 0)),
                ("admin", new IPEndPoint(IPAddress.Loopback, 12002)),
            ],
            options.Listeners);
    }

    [Fact]
    public void A_star_means_all_addresses_and_the_path_may_follow_an_equals_sign()
    {
        var options = PortsOptions.Parse(["public=*:12000", "--socket=/run/a.sock"], out _);

        Assert.Equal("/run/a.sock", options!.Path);
        Assert.Equal(
            new IPEndPoint(Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any, 12000), Assert.Single(options.Listeners).EndPoint);
    }

    [Theory]
    [InlineData("", "--socket PATH is missing")]
    [InlineData("public=*:1", "--socket PATH is missing")]
    [InlineData("--socket= public=*:1", "--socket PATH is missing")]
    [InlineData("--socket /a", "no listener is given")]
    [InlineData("--socket", "'--socket': a listener is public, https, uplink or admin")]
    [InlineData("--socket /a publik=*:1", "'publik=*:1': a listener is public, https, uplink or admin")]
    [InlineData("--socket /a Public=*:1", "'Public=*:1': a listener is")]
    [InlineData("--socket /a public", "'public': an address is")]
    [InlineData("--socket /a public=", "'public=': an address is")]
    [InlineData("--socket /a public=12000", "'public=12000': an address is")]
    [InlineData("--socket /a public=*:65536", "'public=*:65536': an address is")]
    [InlineData("--socket /a public=1:12000", "'public=1:12000': an address is")]
    [InlineData("--socket /a public=[127.0.0.1]:12000", "'public=[127.0.0.1]:12000': an address is")]
    [InlineData("--socket /a public=::1:12000", "'public=::1:12000': an address is")]
    [InlineData("--socket /a public=example.com:12000", "'public=example.com:12000': an address is")]
    [InlineData("--socket /a public=*:1 public=*:2", "'public=*:2': there is another public")]
    public void What_is_wrong_is_said(string line, string expected)
    {
        Assert.Null(PortsOptions.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries), out var mistake));

        Assert.StartsWith(expected, mistake, StringComparison.Ordinal);
    }
}
