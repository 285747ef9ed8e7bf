using System.Text;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Telemetry.Tests.Records;

public sealed class RequestMethodsTests
{
    [Fact]
    public void Every_method_with_a_number_is_found_by_its_name()
    {
        foreach (var method in Enum.GetValues<RequestMethod>())
        {
            var name = RequestMethods.Name(method);
            Assert.InRange(name.Length, 1, RequestMethods.MaxNameLength);
            Assert.Equal(method, RequestMethods.Parse(Encoding.ASCII.GetBytes(name)));
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("get")]
    [InlineData("GETS")]
    [InlineData("BREW")]
    [InlineData("OPTIONSX")]
    public void Any_other_name_has_none(string name) =>
        Assert.Equal(RequestMethod.Other, RequestMethods.Parse(Encoding.ASCII.GetBytes(name)));
}
