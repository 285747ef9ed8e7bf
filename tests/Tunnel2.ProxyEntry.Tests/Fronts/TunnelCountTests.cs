using System.Text;
using Tunnel2.ProxyEntry.Fronts;

namespace Tunnel2.ProxyEntry.Tests.Fronts;

public sealed class TunnelCountTests
{
    [Theory]
    [InlineData("", 0)]
    [InlineData("for=1.2.3.4;by=_other", 0)]
    [InlineData("by=_tunnel2", 1)]
    [InlineData("for=1.2.3.4;by=_tunnel2.7;proto=http", 7)]
    [InlineData("by=\"_tunnel2.7\"", 7)]
    [InlineData("by=_tunnel2.3, by=\"_tunnel2.12\", by=_tunnel2", 12)]
    [InlineData("by=_tunnel2.", 1)]
    [InlineData("by=_tunnel2.0", 1)]
    [InlineData("by=_tunnel2.-5", 1)]
    [InlineData("by=_tunnel2.99999999999999999999", 1)]
    [InlineData("by=_tunnel2.2147483647", int.MaxValue)]
    public void The_largest_number_counts(string forwarded, int count) =>
        Assert.Equal(count, TunnelCount.Read(Encoding.ASCII.GetBytes(forwarded)));

    [Fact]
    public void What_is_written_is_read()
    {
        for (var i = 1; i <= TunnelCount.Most; i++)
        {
            Assert.Equal(i, TunnelCount.Read(Encoding.ASCII.GetBytes("for=_x" + TunnelCount.Text(i))));
        }
    }
}
