using System.Text;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.Tests.Errors;

public sealed class ErrorBodyNegotiationTests
{
    [Theory]
    [InlineData("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true)]
    [InlineData("text/html", true)]
    [InlineData("TEXT/HTML; charset=utf-8", true)]
    [InlineData("text/html;q=0.5", true)]
    [InlineData("application/json;q=0.4, text/html;q=0.5", true)]
    [InlineData("", false)]
    [InlineData("*/*", false)]
    [InlineData("text/*", false)]
    [InlineData("text/plain", false)]
    [InlineData("application/json, text/plain, */*", false)]
    [InlineData("application/json, text/html;q=0.9", false)]
    [InlineData("text/html;q=0", false)]
    [InlineData("text/html;q=x", false)]
    [InlineData("text/html5", false)]
    [InlineData(";,;q=,,", false)]
    public void Html_is_sent_only_to_those_who_ask_for_it(string accept, bool html)
    {
        var expected = html ? ErrorBodyFormat.Html : ErrorBodyFormat.ProblemJson;

        Assert.Equal(expected, ErrorBodyNegotiation.Choose(accept));
        Assert.Equal(expected, ErrorBodyNegotiation.Choose(Encoding.ASCII.GetBytes(accept)));
    }

    [Fact]
    public void Bytes_of_any_length_and_value_are_taken()
    {
        Assert.Equal(ErrorBodyFormat.ProblemJson, ErrorBodyNegotiation.Choose(Enumerable.Repeat((byte)0xFF, 100_000).ToArray()));
    }
}
