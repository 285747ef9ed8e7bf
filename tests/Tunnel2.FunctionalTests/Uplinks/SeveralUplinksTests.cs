using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

[Trait("Engine", "each")]
public sealed class SeveralUplinksTests
{
    private static readonly TunnelSetup _four = new()
    {
        CanBeCut = true,
        Agent = static options => options with { Uplinks = UplinkPolicy.Fixed(4) },
    };

    [Fact]
    public Task An_agent_with_a_setting_of_four_uplinks_has_four_and_all_of_them_serve() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await UntilAsync(tunnel, 4);
            Assert.Equal([0, 1, 2, 3], tunnel.Entry.Session.Tunnel.Uplinks.Select(static uplink => uplink.Slot).Order());
            var visitors = await Task.WhenAll(Enumerable.Range(0, 40).Select(async i =>
            {
                var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync($"/delay/300?{i}", TunnelFixture.Host);
                return visitor;
            }));
            foreach (var visitor in visitors)
            {
                Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
            }

            Assert.All(tunnel.Entry.Session.Tunnel.Uplinks, static uplink => Assert.InRange(uplink.Streams.Table.Opened, 5, 20));
            Assert.Equal(1, tunnel.Agent.Events.ReadyCount.Value);
        },
        _four);

    [Fact]
    public Task A_lost_uplink_comes_back_while_the_others_serve() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await UntilAsync(tunnel, 4);
            for (var cut = 0; cut < 4; cut++)
            {
                var lost = tunnel.Entry.Session.Tunnel.Uplinks[0];
                tunnel.Link.Connections[cut].Cut(cut % 2 == 0 ? CutMode.Reset : CutMode.Fin);

                // A request that is sent before the loss is known is lost with the uplink.
                await tunnel.Entry.UntilAsync(() => !tunnel.Entry.Session.Tunnel.Uplinks.Contains(lost), "the loss is known");
                Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/1000")).Head.StatusCode);
                await tunnel.Link.ConnectionsAccepted.WaitForAsync(5 + cut);
                await tunnel.Entry.UntilAsync(
                    () => tunnel.Entry.Session.Tunnel.Uplinks is { Count: 4 } now && !now.Contains(lost), "four uplinks again");
            }

            Assert.Equal(0, tunnel.Agent.Events.EndCount.Value);
            Assert.Equal(1, tunnel.Agent.Events.ReadyCount.Value);
        },
        _four);

    private static Task UntilAsync(TunnelFixture tunnel, int uplinks) =>
        tunnel.Entry.WaitForUplinksAsync(uplinks);
}
