using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Tests.Inspecting;

public sealed class InspectorAddressTests
{
    [Theory]
    [InlineData("4041", "127.0.0.1:4041", true)]
    [InlineData(":4041", "127.0.0.1:4041", true)]
    [InlineData("127.0.0.1", "127.0.0.1:4040", true)]
    [InlineData("localhost:5000", "127.0.0.1:5000", true)]
    [InlineData("[::1]:4041", "[::1]:4041", true)]
    [InlineData("0.0.0.0:4040", "0.0.0.0:4040", false)]
    [InlineData("192.0.2.7", "192.0.2.7:4040", false)]
    public void Addresses(string text, string address, bool isLoopback)
    {
        Assert.Null(InspectorAddress.TryParse(text, out var parsed));
        Assert.Equal((address, isLoopback), (parsed!.ToString(), parsed.IsLoopback));
    }

    [Theory]
    [InlineData("70000")]
    [InlineData("example.com:4040")]
    [InlineData("127.0.0.1:x")]
    [InlineData("")]
    public void What_is_no_address_of_this_machine(string text)
    {
        Assert.NotNull(InspectorAddress.TryParse(text, out var parsed));
        Assert.Null(parsed);
    }
}
