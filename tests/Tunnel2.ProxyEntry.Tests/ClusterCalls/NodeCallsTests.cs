using Tunnel2.ProxyEntry.ClusterCalls;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.ClusterCalls;

public sealed class NodeCallsTests
{
    private static readonly TimeSpan _memory = TimeSpan.FromSeconds(5);

    [Fact]
    public void As_many_calls_run_as_may_and_each_gives_its_place_back_once()
    {
        var calls = new NodeCalls(TimeProvider.System);
        var places = Enumerable.Range(0, ClusterNodes.MostCalls).Select(_ => calls.TryEnter()).ToList();
        Assert.DoesNotContain(null, places);
        Assert.Null(calls.TryEnter());
        places[0]!.Dispose();
        places[0]!.Dispose();
        Assert.NotNull(calls.TryEnter());
        Assert.Null(calls.TryEnter());
    }

    [Fact]
    public void A_node_that_was_late_is_remembered_until_it_answers_or_for_a_while()
    {
        var time = new ManualTimeProvider();
        var calls = new NodeCalls(time);
        Assert.False(calls.IsLate(_memory));
        calls.MarkLate();
        Assert.True(calls.IsLate(_memory));
        calls.MarkAnswered();
        Assert.False(calls.IsLate(_memory));
        calls.MarkLate();
        time.Advance(_memory);
        Assert.False(calls.IsLate(_memory));
    }
}
