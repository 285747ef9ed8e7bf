using Tunnel2.Client.Core.Session;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Session;

public sealed class UplinkGrowthTests
{
    private static readonly TimeSpan _look = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan _longPath = TimeSpan.FromMilliseconds(40);
    private static readonly TimeSpan _shortPath = TimeSpan.FromMilliseconds(0.2);

    private readonly ManualTimeProvider _time = new();
    private readonly UplinkGrowth _growth;
    private readonly List<object> _ids = [];
    private long _looks;

    public UplinkGrowthTests() => _growth = new UplinkGrowth(_time, 4);

    [Fact]
    public void A_busy_session_on_a_short_path_stays_with_one()
    {
        Assert.Equal(
            1,
            Look(
                TimeSpan.FromMinutes(5),
                1,
                (look, _) => Full(_shortPath) with { BytesMoved = look * 500_000_000, Retransmitted = look * 10 }));
    }

    [Fact]
    public void A_long_path_that_stays_full_gets_more_one_by_one_up_to_four()
    {
        var steps = new List<(int Wanted, TimeSpan At)>();
        var wanted = 1;
        while (_time.Elapsed < TimeSpan.FromMinutes(1))
        {
            var now = Look(_look, wanted, (look, _) => Full(_longPath) with { BytesMoved = look * 10_000_000 });
            if (now != wanted)
            {
                steps.Add((now, _time.Elapsed));
                wanted = now;
            }
        }

        Assert.Equal([2, 3, 4], steps.Select(static step => step.Wanted));

        // The first look has nothing to compare with, the second one sees it full, and so long after that it has lasted.
        Assert.Equal((2 * _look) + UplinkGrowth.Sustained, steps[0].At);
        Assert.All(steps.Zip(steps.Skip(1)), static pair => Assert.True(pair.Second.At - pair.First.At >= UplinkGrowth.Settling));
    }

    [Fact]
    public void A_path_that_is_full_for_a_moment_gets_no_more()
    {
        var wanted = 1;
        for (var i = 0; i < 100; i++)
        {
            wanted = Look(_look, wanted, (look, _) => Full(_longPath) with { BytesMoved = look * 10_000_000 });
            wanted = Look(_look, wanted, (look, _) => Busy(look));
        }

        Assert.Equal(1, wanted);
    }

    [Fact]
    public void Loss_that_lasts_while_several_streams_share_an_uplink_is_a_reason()
    {
        Assert.Equal(1, Look(TimeSpan.FromSeconds(20), 1, (look, _) => Busy(look) with { Retransmitted = look * 2 }));
        Assert.Equal(1, Look(TimeSpan.FromSeconds(20), 1, (look, _) => Busy(look) with { Retransmitted = look * 50, OpenStreams = 1 }));
        Assert.Equal(2, Look(TimeSpan.FromSeconds(4), 1, (look, _) => Busy(look) with { Retransmitted = look * 50 }));
    }

    [Fact]
    public void A_stall_of_all_uplinks_is_a_reason_at_once_and_one_of_several_is_none()
    {
        Assert.Equal(2, Look(_look, 1, static (look, _) => Busy(look) with { IsStalled = true }));
        Assert.Equal(2, Look(TimeSpan.FromSeconds(20), 2, static (look, index) => Busy(look) with { IsStalled = index == 0 }));
        Assert.Equal(3, Look(_look, 2, static (look, _) => Busy(look) with { IsStalled = true }));
    }

    [Fact]
    public void Nothing_more_is_asked_for_while_the_last_one_is_still_being_dialled()
    {
        _time.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(2, Decide(1, 2, static (look, _) => Busy(look) with { IsStalled = true }));
        _time.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(2, Decide(1, 2, static (look, _) => Busy(look) with { IsStalled = true }));
    }

    [Fact]
    public void What_was_added_goes_again_when_little_has_moved_for_a_while()
    {
        Assert.Equal(4, Look(UplinkGrowth.Calm - (2 * _look), 4, static (_, _) => default));
        Assert.Equal(3, Look(4 * _look, 4, static (_, _) => default));
        Assert.Equal(3, Look(UplinkGrowth.Settling - (4 * _look), 3, static (_, _) => default));
        Assert.Equal(1, Look(TimeSpan.FromMinutes(1), 3, static (_, _) => default));
        Assert.Equal(1, Look(TimeSpan.FromMinutes(10), 1, static (_, _) => default));
    }

    [Fact]
    public void A_session_that_moves_something_keeps_what_it_has()
    {
        Assert.Equal(4, Look(TimeSpan.FromMinutes(5), 4, static (look, _) => Busy(look)));
    }

    private static UplinkSample Busy(long look) => new(new object(), false, false, 5, 0.1, _longPath, 0, look * 1_000_000);

    private static UplinkSample Full(TimeSpan roundTrip) => new(new object(), false, true, 5, 0.9, roundTrip, 0, 0);

    /// <summary>Looks every half second for a while, with as many uplinks as are wanted.</summary>
    private int Look(TimeSpan duration, int wanted, Func<long, int, UplinkSample> sample)
    {
        for (var end = _time.Elapsed + duration; _time.Elapsed < end;)
        {
            _time.Advance(_look);
            wanted = Decide(wanted, wanted, sample);
        }

        return wanted;
    }

    private int Decide(int standing, int wanted, Func<long, int, UplinkSample> sample)
    {
        _looks++;
        while (_ids.Count < standing)
        {
            _ids.Add(new object());
        }

        return _growth.Decide(
            [.. Enumerable.Range(0, standing).Select(index => sample(_looks, index) with { Uplink = _ids[index] })], wanted);
    }
}
