using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Replays;

namespace Tunnel2.Inspection.Tests.Replays;

public sealed class TunnelReplayTests
{
    [Fact]
    public async Task A_replay_with_a_host_that_does_not_lead_to_the_tunnel_is_refused_and_sends_nothing()
    {
        using var sent = new MemoryStream();
        var result = await TunnelReplay.RunAsync(
            Sample.Store(), sent, Request("shop.example:8080"), new Uri("http://web.example:8080"), TimeProvider.System,
            TestContext.Current.CancellationToken);
        Assert.Contains("web.example", result.Error, StringComparison.Ordinal);
        Assert.Null(result.Capture);
        Assert.Equal(0, sent.Length);
    }

    [Fact]
    public async Task A_replay_with_a_host_that_leads_there_has_that_host()
    {
        using var sent = new MemoryStream();
        await TunnelReplay.RunAsync(
            Sample.Store(), sent, Request("Web.Example"), new Uri("http://web.example:8080"), TimeProvider.System,
            TestContext.Current.CancellationToken);
        Assert.Equal("GET /a HTTP/1.1\r\nHost: Web.Example\r\n\r\n", HeadText.Of(sent.ToArray()));
    }

    private static ReplayRequest Request(string host) => new()
    {
        Source = 1,
        Authority = host,
        HasOtherHost = true,
        Method = HeadText.Bytes("GET"),
        Target = HeadText.Bytes("/a"),
        Fields = [new HeadField(HeadText.Bytes("Host"), HeadText.Bytes(host))],
        Body = [],
        HasLength = false,
    };
}
