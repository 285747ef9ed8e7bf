using Tunnel2.Client.Core.Events;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

[Trait("Engine", "each")]
public sealed class UplinkLossTests
{
    private static readonly TunnelSetup _setup = new() { CanBeCut = true };

    [Theory]
    [InlineData(CutMode.Fin, "/bytes/100000000000")]
    [InlineData(CutMode.Reset, "/bytes/100000000000")]
    [InlineData(CutMode.Fin, "/stream/100000000/1000/0")]
    [InlineData(CutMode.Reset, "/stream/100000000/1000/0")]
    public Task A_download_over_a_lost_uplink_does_not_end_in_order_and_the_agent_comes_back(
        CutMode mode, string target) => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync(target, TunnelFixture.Host);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(200, head.StatusCode);
            var body = visitor.OpenBody(head);
            Assert.NotEqual(0, await body.ReadAsync(new byte[1000]));
            tunnel.Link.CutAll(mode);
            var buffer = new byte[100_000];
            while (await body.ReadAsync(buffer) > 0)
            {
                // What was under way.
            }

            Assert.Equal(ConnectionEnding.Fin, body.Ending);
            await tunnel.Backend.WaitForCompletionAsync(target);
            await tunnel.Agent.Events.ReadyCount.WaitForAsync(2);
            Assert.Equal(ConnectionEndReason.Lost, Assert.Single(tunnel.Agent.Events.Ends).Reason);
            Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/1")).Head.StatusCode);
        },
        _setup);

    [Fact]
    public Task A_request_that_waits_when_the_uplink_is_lost_is_a_502_that_says_so() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/delay/100000", TunnelFixture.Host);
            await tunnel.Backend.WaitForArrivalAsync("/delay/100000");
            tunnel.Link.CutAll(CutMode.Reset);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((502, "uplink-lost"), (head.StatusCode, head["Tunnel2-Error"]));
            await visitor.ReadBodyAsync(head);
            await tunnel.Backend.WaitForAbortAsync("/delay/100000");
            await tunnel.Agent.Events.ReadyCount.WaitForAsync(2);
            Assert.Equal(200, (await visitor.ExchangeAsync("/bytes/1", TunnelFixture.Host)).Head.StatusCode);
        },
        _setup);

    [Fact]
    public Task An_upload_over_a_lost_uplink_is_a_502_and_no_whole_request_for_the_backend() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                $"POST /sink HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 1000000\r\n\r\n{new string('x', 1000)}");
            await tunnel.Backend.WaitForArrivalAsync("/sink");
            tunnel.Link.CutAll(CutMode.Fin);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((502, "uplink-lost"), (head.StatusCode, head["Tunnel2-Error"]));
            await tunnel.Backend.WaitForCompletionAsync("/sink");
            await tunnel.Agent.Events.ReadyCount.WaitForAsync(2);
        },
        _setup);

    [Fact]
    public Task An_uplink_cut_again_and_again_comes_back_each_time() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            for (var life = 1; life <= 3; life++)
            {
                await tunnel.Agent.Events.ReadyCount.WaitForAsync(life, TimeSpan.FromSeconds(15));
                Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/100000")).Head.StatusCode);
                tunnel.Link.CutAll(life % 2 == 0 ? CutMode.Fin : CutMode.Reset);
            }

            await tunnel.Agent.Events.ReadyCount.WaitForAsync(4, TimeSpan.FromSeconds(15));
            Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/100000")).Head.StatusCode);
            Assert.All(tunnel.Agent.Events.Ends, static end => Assert.Equal(ConnectionEndReason.Lost, end.Reason));
        },
        _setup);
}
