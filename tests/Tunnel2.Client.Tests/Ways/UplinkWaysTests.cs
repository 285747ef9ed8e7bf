using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Ways;
using Tunnel2.Client.Tests.InMemory;

namespace Tunnel2.Client.Tests.Ways;

public sealed class UplinkWaysTests
{
    private static readonly AgentOptions _far = SessionFixture.Options with { Server = new ServerEndpoint("tunnel.example.com", 12001) };

    [Fact]
    public void The_way_that_worked_last_is_tried_first()
    {
        var ways = new UplinkWays(_far, Random.Shared);
        Assert.Equal([UplinkWay.Direct, UplinkWay.WebSocket], ways.Order());
        Assert.False(ways.IsDetour);
        ways.Took(UplinkWay.WebSocket, "It was refused.");
        Assert.True(ways.IsDetour);
        Assert.Equal([UplinkWay.WebSocket, UplinkWay.Direct], ways.Order());
        ways.Took(UplinkWay.WebSocket, null);
        Assert.Equal("It was refused.", ways.Reason);
        ways.Took(UplinkWay.Direct, null);
        Assert.Equal((UplinkWay.Direct, null, false), (ways.Current, ways.Reason, ways.IsDetour));
    }

    [Theory]
    [InlineData(UplinkWay.Direct, "tunnel.example.com", null, new[] { UplinkWay.Direct })]
    [InlineData(UplinkWay.WebSocket, "tunnel.example.com", null, new[] { UplinkWay.WebSocket })]
    [InlineData(UplinkWay.Auto, "127.0.0.1", null, new[] { UplinkWay.Direct })]
    [InlineData(UplinkWay.Auto, "localhost", 12000, new[] { UplinkWay.Direct, UplinkWay.WebSocket })]
    [InlineData(UplinkWay.Auto, "192.0.2.1", null, new[] { UplinkWay.Direct, UplinkWay.WebSocket })]
    public void A_forced_way_and_a_server_on_this_machine_have_no_other(UplinkWay way, string host, int? port, UplinkWay[] expected) =>
        Assert.Equal(
            expected,
            new UplinkWays(
                _far with { Server = new ServerEndpoint(host, 12001), Uplink = way, PublicPort = port }, Random.Shared).Order());

    [Fact]
    public void Waits_grow_to_ten_minutes_and_begin_anew_after_a_long_session()
    {
        var ways = new UplinkWays(_far, new Random(5));
        var expected = UplinkWays.FirstClimb;
        for (var i = 0; i < 10; i++)
        {
            Assert.InRange(ways.NextClimb(), expected * 0.8, expected);
            expected = expected * 2 < UplinkWays.LastClimb ? expected * 2 : UplinkWays.LastClimb;
        }

        ways.Ended(UplinkWay.WebSocket, TimeSpan.FromHours(1), isLost: true);
        Assert.InRange(ways.NextClimb(), UplinkWays.LastClimb * 0.8, UplinkWays.LastClimb);
        ways.Ended(UplinkWay.Direct, TimeSpan.FromHours(1), isLost: true);
        Assert.InRange(ways.NextClimb(), UplinkWays.FirstClimb * 0.8, UplinkWays.FirstClimb);
    }

    [Fact]
    public void A_port_that_cuts_three_sessions_in_a_row_soon_is_left_and_the_next_wait_is_longer()
    {
        var ways = new UplinkWays(_far with { Token = "t" }, Random.Shared);
        Cut(ways, 2);
        ways.Ended(UplinkWay.Direct, TimeSpan.FromSeconds(1), isLost: false);
        Cut(ways, 2);
        ways.Ended(UplinkWay.Direct, TimeSpan.FromMinutes(1), isLost: true);
        Cut(ways, 2);
        Assert.Equal([UplinkWay.Direct, UplinkWay.WebSocket], ways.Order());
        Cut(ways, 1);
        Assert.Equal([UplinkWay.WebSocket, UplinkWay.Direct], ways.Order());
        ways.Took(UplinkWay.WebSocket, null);
        Assert.True(ways.IsDetour);
        Assert.Contains("cut", ways.Reason, StringComparison.Ordinal);

        // It climbs back, and the port cuts again: three more, and the waits go on to grow.
        Assert.InRange(ways.NextClimb(), UplinkWays.FirstClimb * 0.8, UplinkWays.FirstClimb);
        ways.Took(UplinkWay.Direct, null);
        Cut(ways, 3);
        Assert.Equal([UplinkWay.WebSocket, UplinkWay.Direct], ways.Order());
        Assert.InRange(ways.NextClimb(), UplinkWays.FirstClimb * 1.6, UplinkWays.FirstClimb * 2);
    }

    [Fact]
    public void An_agent_that_the_public_port_may_refuse_stays()
    {
        AgentOptions[] stay =
        [
            _far,
            _far with { Token = "t", Tls = new TlsOptions { ClientCertificateFile = "agent.pem" } },
            _far with { Token = "t", Uplink = UplinkWay.Direct },
        ];
        foreach (var options in stay)
        {
            var ways = new UplinkWays(options, Random.Shared);
            Cut(ways, 9);
            Assert.Equal(UplinkWay.Direct, ways.Current);
        }
    }

    [Theory]
    [InlineData(null, true, "tunnel.example.com", 443)]
    [InlineData(null, false, "tunnel.example.com", 80)]
    [InlineData(null, false, "127.0.0.1", 12000)]
    [InlineData(8443, true, "tunnel.example.com", 8443)]
    public void The_public_port_is_the_usual_one_unless_it_is_named(int? port, bool isTls, string host, int expected)
    {
        var options = _far with { Server = new ServerEndpoint(host, 12001), PublicPort = port, Tls = isTls ? new TlsOptions() : null };
        Assert.Equal(new ServerEndpoint(host, expected), options.WebSocketServer);
    }

    private static void Cut(UplinkWays ways, int times)
    {
        for (var i = 0; i < times; i++)
        {
            ways.Ended(UplinkWay.Direct, TimeSpan.FromSeconds(5), isLost: true);
        }
    }
}
