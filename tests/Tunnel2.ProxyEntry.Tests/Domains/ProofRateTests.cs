using Tunnel2.ProxyEntry.Domains;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Domains;

public sealed class ProofRateTests
{
    [Fact]
    public void An_agent_has_some_calls_and_gets_others_with_time()
    {
        var time = new ManualTimeProvider();
        var rate = new ProofRate(time);
        Assert.Equal(ProofRate.Burst, Enumerable.Range(0, 50).Count(_ => rate.TryTake("web")));
        Assert.False(rate.TryTake("WEB"));
        Assert.True(rate.TryTake("other"));
        time.Advance(ProofRate.Period);
        Assert.True(rate.TryTake("web"));
        Assert.False(rate.TryTake("web"));
        time.Advance(ProofRate.Period * 100);
        Assert.Equal(ProofRate.Burst, Enumerable.Range(0, 50).Count(_ => rate.TryTake("web")));
    }
}
