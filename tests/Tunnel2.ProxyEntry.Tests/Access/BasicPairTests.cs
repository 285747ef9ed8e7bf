using System.Text;
using Tunnel2.ProxyEntry.Access;

namespace Tunnel2.ProxyEntry.Tests.Access;

public sealed class BasicPairTests
{
    [Theory]
    [InlineData("Basic YWxpY2U6c2VjcmV0", "alice", "secret")]
    [InlineData("basic YWxpY2U6c2VjcmV0", "alice", "secret")]
    [InlineData("BASIC   YWxpY2U6c2VjcmV0 ", "alice", "secret")]
    [InlineData("Basic YTpiOmM=", "a", "b:c")]
    [InlineData("Basic Og==", "", "")]
    public void A_pair_is_read(string value, string user, string password)
    {
        var room = new byte[BasicPair.LongestValue];
        var colon = BasicPair.TryDecode(Encoding.ASCII.GetBytes(value), room, out var pair);
        Assert.Equal((user, password), (Encoding.UTF8.GetString(pair[..colon]), Encoding.UTF8.GetString(pair[(colon + 1)..])));
    }

    [Theory]
    [InlineData("")]
    [InlineData("Basic")]
    [InlineData("Basic ")]
    [InlineData("Basic YWxpY2U")]
    [InlineData("Basic YWxpY2U=")]
    [InlineData("Basic !!!!")]
    [InlineData("BasicYWxpY2U6c2VjcmV0")]
    [InlineData("Bearer YWxpY2U6c2VjcmV0")]
    [InlineData("Basic YWxpY2U6c2VjcmV0, Basic YTpi")]
    [InlineData("Basic YWxpY2U6c2VjcmV0AA==")]
    [InlineData("Basic YWxpY2U6c2VjCXJldA==")]
    [InlineData("Basic YWx/aWNlOnNlY3JldA==")]
    [InlineData("Basic YWxpY2U6 c2VjcmV0")]
    [InlineData("Basic YWxpY2U6c2VjcmV0\t")]
    [InlineData("Basic \tYWxpY2U6c2VjcmV0")]
    [InlineData("Basic YWxpY2U6\r\nc2VjcmV0")]
    [InlineData("Basic YTpiOmM =")]
    [InlineData("Basic YTpiOmM= =")]
    public void What_is_no_pair_is_none(string value) =>
        Assert.Equal(-1, BasicPair.TryDecode(Encoding.ASCII.GetBytes(value), new byte[BasicPair.LongestValue], out _));

    [Fact]
    public void A_value_that_is_too_long_is_none()
    {
        var longest = "Basic " + Convert.ToBase64String(Encoding.ASCII.GetBytes("a:" + new string('x', 463)));
        Assert.Equal(626, longest.Length);
        Assert.Equal(1, BasicPair.TryDecode(Encoding.ASCII.GetBytes(longest), new byte[BasicPair.LongestValue], out _));
        Assert.Equal(-1, BasicPair.TryDecode(new byte[BasicPair.LongestValue + 1], new byte[BasicPair.LongestValue], out _));
    }
}
