using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class PoolOptionsParserTests
{
    private static readonly AgentOptionsInput _pool =
        new AgentOptionsInput().Give("<upstream>", "3000").Give("--name", "web").Give("--pool", "true");

    [Fact]
    public void A_pool_needs_a_name_and_nothing_else()
    {
        var options = Accepted(_pool);
        Assert.True(options.Pool);
        Assert.Null(options.Health.Target);
        Assert.False(Accepted(new AgentOptionsInput().Give("<upstream>", "3000")).Pool);
        Assert.Equal(
            ("--pool", "needs --name: it is what the agents share"),
            Refused(new AgentOptionsInput().Give("<upstream>", "3000").Give("--pool", "true")));
    }

    [Fact]
    public void The_check_has_a_target_and_numbers()
    {
        var options = Accepted(_pool
            .Give("--health-check", "/health").Give("--health-interval", "7").Give("--health-timeout", "2")
            .Give("--health-failures", "4").Give("--health-successes", "1"));
        Assert.Equal(
            new HealthCheck("/health")
            {
                Interval = TimeSpan.FromSeconds(7),
                Timeout = TimeSpan.FromSeconds(2),
                Failures = 4,
                Successes = 1,
            },
            options.Health);
        Assert.Equal("tcp", Accepted(_pool.Give("--health-check", "tcp")).Health.Target);
    }

    [Theory]
    [InlineData("--health-check", "health", "'health' is neither a path that begins with / nor tcp")]
    [InlineData("--health-check", "/a b", "'/a b' is neither a path that begins with / nor tcp")]
    [InlineData("--health-interval", "7", "says nothing without --health-check")]
    [InlineData("--health-timeout", "1", "says nothing without --health-check")]
    [InlineData("--health-failures", "1", "says nothing without --health-check")]
    [InlineData("--health-successes", "1", "says nothing without --health-check")]
    public void What_cannot_be_is_said(string flag, string text, string mistake) =>
        Assert.Equal((flag, mistake), Refused(_pool.Give(flag, text)));

    [Theory]
    [InlineData("--health-interval", "0", 300)]
    [InlineData("--health-interval", "301", 300)]
    [InlineData("--health-timeout", "61", 60)]
    [InlineData("--health-failures", "x", 20)]
    [InlineData("--health-successes", "21", 20)]
    public void Numbers_have_ranges(string flag, string text, int most) => Assert.Equal(
        (flag, $"'{text}' is not a number from 1 to {most}"), Refused(_pool.Give("--health-check", "tcp").Give(flag, text)));

    [Fact]
    public void A_check_is_for_agents_that_share_a_name_and_for_what_the_service_speaks()
    {
        var alone = new AgentOptionsInput().Give("<upstream>", "3000").Give("--name", "web");
        Assert.Equal(
            ("--health-check", "is for agents that share a name; add --pool"), Refused(alone.Give("--health-check", "tcp")));
        Assert.Equal(
            ("--health-check", "asks in HTTP/1.1, which a service of h2c:// does not speak; write tcp"),
            Refused(new AgentOptionsInput()
                .Give("<upstream>", "h2c://localhost:3000").Give("--name", "web").Give("--pool", "true").Give("--health-check", "/")));
    }

    [Theory]
    [InlineData("tcp")]
    [InlineData("udp")]
    public void Agents_may_share_a_port_and_are_named_by_it(string kind)
    {
        var port = new AgentOptionsInput()
            .Give("<upstream>", "22").Give("protocol", kind).Give("--pool", "true").Give("--remote-port", "20022");
        Assert.Equal((true, $"{kind}-20022"), (Accepted(port).Pool, Accepted(port).Name));
        Assert.Equal("ssh", Accepted(port.Give("--name", "ssh")).Name);
        Assert.Equal(("--pool", "needs --remote-port: it is what the agents share"), Refused(_pool.Give("protocol", kind)));
    }

    [Fact]
    public void Agents_of_TLS_share_a_name()
    {
        Assert.True(Accepted(_pool.Give("protocol", "tls")).Pool);
        Assert.Equal(
            ("--pool", "needs --name: it is what the agents share"),
            Refused(new AgentOptionsInput().Give("<upstream>", "443").Give("protocol", "tls").Give("--pool", "true")));
    }

    [Fact]
    public void A_check_fits_what_the_tunnel_carries()
    {
        var port = _pool.Give("--remote-port", "20022");
        Assert.Equal("tcp", Accepted(port.Give("protocol", "tcp").Give("--health-check", "tcp")).Health.Target);
        Assert.Equal(
            ("--health-check", "asks by HTTP, which belongs to 'http'; write tcp"),
            Refused(port.Give("protocol", "tcp").Give("--health-check", "/health")));
        Assert.Equal(
            ("--health-check", "is not for 'udp': a service that takes datagrams cannot be asked"),
            Refused(port.Give("protocol", "udp").Give("--health-check", "tcp")));
    }

    private static AgentOptions Accepted(AgentOptionsInput input)
    {
        var result = AgentOptionsParser.Parse(input);
        Assert.Empty(result.Mistakes);
        return result.Options!;
    }

    private static (string Flag, string Message) Refused(AgentOptionsInput input)
    {
        var result = AgentOptionsParser.Parse(input);
        Assert.Null(result.Options);
        var mistake = Assert.Single(result.Mistakes);
        return (mistake.Flag, mistake.Message);
    }
}
