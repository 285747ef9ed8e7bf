using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class RouteOptionsParserTests
{
    private static readonly AgentOptionsInput _minimal = new AgentOptionsInput().Give("<upstream>", "5173");

    [Fact]
    public void A_route_is_a_path_and_a_service()
    {
        AgentOptions options = Accepted(_minimal, "/api=3000\n/docs/=http://10.0.0.1:8080/base,strip-prefix\n/rpc = h2c://localhost:50051");
        Assert.Equal(
            ["/api -> http://127.0.0.1:3000", "/docs -> http://10.0.0.1:8080/base", "/rpc -> h2c://localhost:50051"],
            options.Routes.Select(static route => route.ToString()));
        Assert.Equal([false, true, false], options.Routes.Select(static route => route.StripsPrefix));
        Assert.Equal("http://127.0.0.1:5173", options.Upstream.ToString());
    }

    [Fact]
    public void A_table_says_more_of_a_route()
    {
        AgentOptions options = Accepted(
            new AgentOptionsInput(),
            """
            [{"path":"/api","upstream":3000,"strip-prefix":true,"backend-protocol":"h2"},{"path":"/","upstream":"5173"},"/x=3001"]
            """);
        Assert.Equal(["/api", "/x"], options.Routes.Select(static route => route.Path));
        Assert.Equal((true, BackendProtocol.Http2), (options.Routes[0].StripsPrefix, options.Routes[0].Protocol));
        Assert.Equal("http://127.0.0.1:5173", options.Upstream.ToString());
    }

    [Fact]
    public void A_route_for_the_root_is_the_tunnels_own_service()
    {
        AgentOptions options = Accepted(new AgentOptionsInput(), "/api=3000\n/=5173");
        Assert.Equal("http://127.0.0.1:5173", options.Upstream.ToString());
        Assert.Equal("/api", Assert.Single(options.Routes).Path);
    }

    [Theory]
    [InlineData("")]
    [InlineData("3000")]
    [InlineData("api=3000")]
    [InlineData("/api=")]
    [InlineData("/api=70000")]
    [InlineData("/a//b=3000")]
    [InlineData("/a/../b=3000")]
    [InlineData("/a.=3000")]
    [InlineData("/a%20b=3000")]
    [InlineData("/a/*=3000")]
    [InlineData("/a?x=3000")]
    [InlineData("/ä=3000")]
    [InlineData("/api=3000\n/api/=3001")]
    [InlineData("/=3000")]
    [InlineData("[")]
    [InlineData("[1]")]
    [InlineData("""[{"path":"/api"}]""")]
    [InlineData("""[{"path":"/api","upstream":3000,"strip":true}]""")]
    [InlineData("""[{"path":"/api","upstream":3000,"strip-prefix":"yes"}]""")]
    [InlineData("""[{"path":"/api","upstream":"h2c://h:1","backend-protocol":"h1"}]""")]
    [InlineData("""[{"path":"/api","upstream":3000,"backend-protocol":"h3"}]""")]
    [InlineData("""[{"path":"/","upstream":3000,"strip-prefix":true}]""")]
    [InlineData("""["\ud800=3000"]""")]
    [InlineData("""[{"path":"\ud800","upstream":3000}]""")]
    public void A_mistake_names_the_flag(string text)
    {
        AgentOptionsParseResult result = AgentOptionsParser.Parse(_minimal.Give("--route", text));
        Assert.Null(result.Options);
        Assert.All(result.Mistakes, static mistake => Assert.Equal("--route", mistake.Flag));
    }

    [Fact]
    public void There_are_at_most_32() => Assert.Contains(
        "more than 32",
        Assert.Single(AgentOptionsParser.Parse(_minimal.Give("--route", string.Join('\n', Enumerable.Range(0, 33).Select(
            static number => $"/p{number}=3000")))).Mistakes).ToString(),
        StringComparison.Ordinal);

    [Fact]
    public void Without_a_service_for_the_rest_the_mistake_says_so() => Assert.Contains(
        "or a route for /",
        Assert.Single(AgentOptionsParser.Parse(new AgentOptionsInput().Give("--route", "/api=3000")).Mistakes).ToString(),
        StringComparison.Ordinal);

    [Fact]
    public void Only_http_has_paths() => Assert.Contains(
        "belongs to 'http'",
        Assert.Single(AgentOptionsParser.Parse(_minimal.Give("protocol", "tcp").Give("--route", "/api=3000")).Mistakes).ToString(),
        StringComparison.Ordinal);

    private static AgentOptions Accepted(AgentOptionsInput input, string routes)
    {
        AgentOptionsParseResult result = AgentOptionsParser.Parse(input.Give("--route", routes));
        Assert.Empty(result.Mistakes);
        return result.Options!;
    }
}
