using System.Net;
using Tunnel2.ProxyEntry.Admin;

namespace Tunnel2.ProxyEntry.Tests.Admin;

public sealed class AdminAddressTests
{
    [Theory]
    [InlineData("127.0.0.1:12002", "http://127.0.0.1:12002/")]
    [InlineData("0.0.0.0:80", "http://127.0.0.1:80/")]
    [InlineData("[::]:12002", "http://127.0.0.1:12002/")]
    [InlineData("192.0.2.7:12002", "http://192.0.2.7:12002/")]
    public void It_is_one_that_a_browser_on_this_machine_can_open(string endPoint, string url) =>
        Assert.Equal(url, AdminAddress.UrlOf(IPEndPoint.Parse(endPoint)));
}
