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

    [Theory]
    [InlineData("application/grpc", nameof(ErrorBodyFormat.Grpc))]
    [InlineData("Application/gRPC+proto", nameof(ErrorBodyFormat.Grpc))]
    [InlineData("application/grpc;charset=x", nameof(ErrorBodyFormat.Grpc))]
    [InlineData("application/grpc-web", nameof(ErrorBodyFormat.GrpcWeb))]
    [InlineData("application/grpc-web-text", nameof(ErrorBodyFormat.GrpcWeb))]
    [InlineData("application/grpcx", nameof(ErrorBodyFormat.Html))]
    [InlineData("application/json", nameof(ErrorBodyFormat.Html))]
    [InlineData("", nameof(ErrorBodyFormat.Html))]
    public void A_grpc_request_gets_a_status_of_grpc_also_if_it_accepts_other_types(string contentType, string format)
    {
        var expected = Enum.Parse<ErrorBodyFormat>(format);
        Assert.Equal(expected, ErrorBodyNegotiation.Choose(contentType, "text/html"));
        Assert.Equal(expected, ErrorBodyNegotiation.Choose(Encoding.ASCII.GetBytes(contentType), "text/html"u8));
    }

    [Fact]
    public void Bytes_of_any_length_and_value_are_taken()
    {
        Assert.Equal(ErrorBodyFormat.ProblemJson, ErrorBodyNegotiation.Choose(Enumerable.Repeat((byte)0xFF, 100_000).ToArray()));
    }
}
