using Tunnel2.Multiplexing.Session;

namespace Tunnel2.Multiplexing.Tests.Session;

public sealed class UplinkLoadTests
{
    /// <summary>From the best to the worst; each differs from the one before in a member that counts more than all after it.</summary>
    private static readonly UplinkLoad[] _inOrder =
    [
        new(false, 0, 0, 0, 0, 0),
        new(false, 0, 0, 0, 0, 9),
        new(false, 0, 0, 0, 1, 0),
        new(false, 0, 0, 1, 0, 0),
        new(false, 0, 1, 0, 0, 0),
        new(false, 1, 0, 0, 0, 0),
        new(true, 0, 0, 0, 0, 0),
    ];

    [Fact]
    public void Loads_are_compared_member_by_member()
    {
        for (var i = 0; i < _inOrder.Length; i++)
        {
            for (var j = 0; j < _inOrder.Length; j++)
            {
                Assert.Equal(i < j, _inOrder[i].IsBelow(_inOrder[j]));
            }
        }
    }

    /// <summary>
    /// Forty long streams on four uplinks: the chance of what waits must not give one uplink half as many again as another.
    /// </summary>
    [Fact]
    public void A_crowd_is_spread_evenly_also_where_those_with_most_streams_never_wait()
    {
        var streams = new int[4];
        for (var opened = 0; opened < 40; opened++)
        {
            var most = streams.Max();
            var best = Enumerable.Range(0, streams.Length).Aggregate((one, other) => LoadOf(other).IsBelow(LoadOf(one)) ? other : one);
            streams[best]++;

            UplinkLoad LoadOf(int uplink) =>
                UplinkLoad.Of(isStalled: false, level: 0, most - streams[uplink], streams[uplink], outstanding: 0);
        }

        Assert.InRange(streams.Max() - streams.Min(), 0, 3);
    }

    [Theory]
    [InlineData(0, 0, false)]
    [InlineData(1, 0, true)]
    [InlineData(3, 1, false)]
    [InlineData(4, 1, true)]
    [InlineData(8, 4, false)]
    [InlineData(9, 4, true)]
    [InlineData(18, 12, false)]
    [InlineData(19, 12, true)]
    [InlineData(100, 80, false)]
    [InlineData(101, 80, true)]
    [InlineData(4, 12, false)]
    public void A_quarter_more_streams_than_another_and_more_than_chance_is_far_above(int streams, int others, bool isFar) =>
        Assert.Equal(isFar, new UplinkLoad(false, 0, 0, 0, streams, 0).IsFarAbove(new UplinkLoad(false, 0, 0, 0, others, 0)));

    [Theory]
    [InlineData(0, 0, false)]
    [InlineData(1, 0, true)]
    [InlineData(1, 1, false)]
    [InlineData(2, 1, true)]
    [InlineData(10, 8, false)]
    [InlineData(11, 8, true)]
    [InlineData(4, 12, false)]
    public void A_quarter_more_streams_than_another_is_clearly_above(int streams, int others, bool isClear) =>
        Assert.Equal(isClear, new UplinkLoad(false, 0, 0, 0, streams, 0).IsClearlyAbove(new UplinkLoad(false, 0, 0, 0, others, 0)));

    [Fact]
    public void Fewer_streams_count_exactly_and_after_a_stall_and_the_window()
    {
        var some = new UplinkLoad(false, 1, 2, 5, 8, 100);
        Assert.True(some.HasFewerStreamsThan(some with { Streams = 9, Waiting = 0, Outstanding = 0 }));
        Assert.False(some.HasFewerStreamsThan(some with { Waiting = 9 }));
        Assert.False(some.HasFewerStreamsThan(some with { Streams = 9, Level = 0 }));
        Assert.True(some.HasFewerStreamsThan(some with { Streams = 0, Level = 2 }));
        Assert.True(some.HasFewerStreamsThan(some with { Streams = 0, Level = 0, IsStalled = true }));
    }

    [Fact]
    public void So_is_a_stall_and_a_quarter_of_the_window()
    {
        var idle = new UplinkLoad(false, 0, 0, 0, 0, 0);
        Assert.True((idle with { IsStalled = true }).IsClearlyAbove(idle));
        Assert.True((idle with { Level = 1 }).IsClearlyAbove(idle));
        Assert.True((idle with { IsStalled = true }).IsFarAbove(idle));
        Assert.False((idle with { Streams = 9 }).IsFarAbove(idle with { IsStalled = true, Streams = 8 }));
        Assert.False((idle with { IsStalled = true }).IsFarAbove(idle with { IsStalled = true }));
        Assert.True((idle with { Level = 1 }).IsFarAbove(idle));
        Assert.False((idle with { Waiting = 9, Outstanding = 1000 }).IsFarAbove(idle));
    }
}
