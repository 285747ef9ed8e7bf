using System.Text;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class DomainOptionsParserTests
{
    private static readonly AgentOptionsInput _minimal = new AgentOptionsInput().Give("<upstream>", "3000");

    [Fact]
    public void Each_name_and_each_domain_is_an_agent_of_its_own()
    {
        IReadOnlyList<AgentOptions> agents = Accepted(
            _minimal.Give("--name", "web\nAPI").Give("--domain", "App.Example.org.\n*.example.com, example.org=>www.example.org")
                .Give("--basic-auth", "alice:secret"));
        Assert.Equal(
            ["web", "api", "app.example.org", "*.example.com", "example.org"], agents.Select(static one => one.Name));
        Assert.All(agents.Take(4), static one => Assert.Single(one.Access!.Users));
        Assert.Empty(agents[4].Access!.Users);
        Assert.Contains("\"https://www.example.org\"", PolicyOf(agents[4]), StringComparison.Ordinal);
        Assert.Single(agents.Select(static one => one.InstanceKey).Distinct());
    }

    [Theory]
    [InlineData("bücher.example", "xn--bcher-kva.example")]
    [InlineData("*.Bücher.example", "*.xn--bcher-kva.example")]
    [InlineData("https://App.example.org/path", "app.example.org")]
    [InlineData("app.example.org:443", "app.example.org")]
    public void What_is_no_domain_names_the_one_that_was_meant(string text, string meant) => Assert.EndsWith(
        $"is not a domain, did you mean '{meant}'?",
        Assert.Single(AgentOptionsParser.Parse(_minimal.Give("--domain", text)).Mistakes).Message, StringComparison.Ordinal);

    [Theory]
    [InlineData("example.org=>http://www.example.org:8080/", "http://www.example.org:8080")]
    [InlineData("example.org => https://WWW.example.org", "https://www.example.org")]
    public void A_redirect_may_name_scheme_and_port(string text, string target) => Assert.Contains(
        $"\"{target}\"", PolicyOf(Assert.Single(Accepted(_minimal.Give("--domain", text)))), StringComparison.Ordinal);

    [Theory]
    [InlineData("a.org=>b.org,b.org=>c.org,c.org")]
    [InlineData("a.org=>c.org,b.org=>c.org")]
    [InlineData("a.org=>https://b.org:8443,b.org=>a.org")]
    public void Redirects_may_follow_one_another(string text) =>
        Assert.Equal(text.Split(',').Length, Accepted(_minimal.Give("--domain", text)).Count);

    [Fact]
    public void A_domain_alone_asks_for_no_random_name() =>
        Assert.Equal("app.example.org", Assert.Single(Accepted(_minimal.Give("--domain", "app.example.org"))).Name);

    [Fact]
    public void Without_either_the_name_is_random() => Assert.Equal(10, Assert.Single(Accepted(_minimal)).Name.Length);

    [Theory]
    [InlineData("example")]
    [InlineData("a*.example.org")]
    [InlineData("*.*.example.org")]
    [InlineData("app.example.org:443")]
    [InlineData("https://app.example.org")]
    [InlineData("192.0.2.1")]
    [InlineData("bücher.example")]
    [InlineData("-a.example.org")]
    [InlineData("a.example.org,a.example.org")]
    [InlineData("example.org=>")]
    [InlineData("example.org=>example.org")]
    [InlineData("a.example.org=>b.example.org,b.example.org=>a.example.org")]
    [InlineData("c.org,a.org=>b.org,b.org=>d.org,d.org=>http://A.org")]
    [InlineData("a.org=>b.org,b.org=>d.org,d.org=>b.org")]
    [InlineData(",")]
    [InlineData("example.org=>www")]
    [InlineData("example.org=>www.example.org/path")]
    [InlineData("example.org=>https://a\"b.example.org")]
    [InlineData("*.example.org=>www.example.org")]
    public void A_mistake_names_the_flag(string text)
    {
        AgentOptionsParseResult result = AgentOptionsParser.Parse(_minimal.Give("--domain", text));
        Assert.Equal("--domain", Assert.Single(result.Mistakes).Flag);
    }

    [Theory]
    [InlineData("--name", "web\nweb")]
    [InlineData("--name", "web\napp.example.org")]
    public void Names_are_judged_each(string flag, string text) =>
        Assert.All(AgentOptionsParser.Parse(_minimal.Give(flag, text)).Mistakes, mistake => Assert.Equal(flag, mistake.Flag));

    [Fact]
    public void What_does_not_go_together_is_refused()
    {
        Assert.NotEmpty(AgentOptionsParser.Parse(_minimal.Give("protocol", "tcp").Give("--domain", "a.example.org")).Mistakes);
        Assert.NotEmpty(AgentOptionsParser.Parse(_minimal.Give("protocol", "tls").Give("--domain", "a.b=>c.d")).Mistakes);
        Assert.NotEmpty(AgentOptionsParser.Parse(
            _minimal.Give("protocol", "tcp").Give("--name", "a\nb").Give("--remote-port", "20000")).Mistakes);
        Assert.NotEmpty(AgentOptionsParser.Parse(
            _minimal.Give("--domain", string.Join(',', Enumerable.Range(0, 21).Select(static i => $"a{i}.example.org")))).Mistakes);
    }

    private static string PolicyOf(AgentOptions options) => Encoding.UTF8.GetString(options.Access!.Policy.Span);

    private static IReadOnlyList<AgentOptions> Accepted(AgentOptionsInput input)
    {
        AgentOptionsParseResult result = AgentOptionsParser.Parse(input);
        Assert.Empty(result.Mistakes);
        return DomainOptionsParser.Split(result.Options!);
    }
}
