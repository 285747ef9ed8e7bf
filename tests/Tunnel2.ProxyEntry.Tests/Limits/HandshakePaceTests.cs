using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Limits;

public sealed class HandshakePaceTests
{
    private const int Any = int.MaxValue;
    private const int Processors = 2;
    private const int AtOnce = HandshakePace.AtOnce * Processors;

    private static readonly TimeSpan _step = TimeSpan.FromSeconds(1) / (HandshakePace.EachSecond * Processors);

    private readonly ManualTimeProvider _time = new();
    private readonly HandshakePace _pace;
    private readonly List<Task<bool>> _turns = [];

    public HandshakePaceTests() => _pace = new HandshakePace(Processors, _time);

    private int Begun => _turns.Count(static turn => turn.IsCompleted);

    [Fact]
    public void A_few_that_come_together_begin_at_once_and_so_do_those_that_come_one_after_the_other()
    {
        Come(AtOnce);
        Assert.Equal(AtOnce, Begun);
        for (var i = 0; i < 100; i++)
        {
            _time.Advance(_step);
            Come(1);
            Assert.Equal(_turns.Count, Begun);
        }
    }

    [Fact]
    public async Task Of_more_one_begins_after_the_other_in_the_order_in_which_they_came()
    {
        Come(AtOnce + 10);
        Assert.Equal(AtOnce, Begun);
        for (var i = 0; i < 10; i++)
        {
            _time.Advance(_step - TimeSpan.FromTicks(1));
            Assert.False(_turns[AtOnce + i].IsCompleted);
            _time.Advance(TimeSpan.FromTicks(1));
            Assert.True(await _turns[AtOnce + i]);
        }

        Assert.Equal(_turns.Count, Begun);
    }

    [Theory]
    [InlineData(300)]
    [InlineData(20_000)]
    public async Task Many_are_spread_over_the_whole_time_and_none_waits_for_longer(int many)
    {
        Come(AtOnce + many);
        for (var part = 1; part < 10; part++)
        {
            _time.Advance(HandshakePace.Longest / 10);
            Assert.InRange(Begun - AtOnce, (many * part / 10) - (many / 50), (many * part / 10) + (many / 50));
        }

        _time.Advance(HandshakePace.Longest / 10);
        Assert.All(await Task.WhenAll(_turns), Assert.True);
    }

    [Fact]
    public void Those_that_keep_coming_do_not_hold_up_the_others()
    {
        Come(AtOnce);
        for (var i = 0; i < 1_000; i++)
        {
            Come(3);
            _time.Advance(_step);
        }

        _time.Advance(HandshakePace.Longest);
        Assert.Equal(_turns.Count, Begun);
    }

    [Fact]
    public async Task The_first_begins_when_more_wait_than_may()
    {
        Come(AtOnce);
        Come(5, most: 3);
        Assert.True(await _turns[AtOnce]);
        Assert.True(await _turns[AtOnce + 1]);
        Assert.Equal(AtOnce + 2, Begun);
    }

    [Fact]
    public async Task One_that_is_given_up_hears_it()
    {
        using var stop = new CancellationTokenSource();
        Come(AtOnce);
        var given = _pace.WaitAsync(Any, stop.Token).AsTask();
        Come(1);
        await stop.CancelAsync();
        Assert.False(await given);
        _time.Advance(2 * _step);
        Assert.True(await _turns[^1]);
    }

    [Fact]
    public void After_a_quiet_time_a_few_begin_at_once_again()
    {
        Come(AtOnce + 1);
        _time.Advance(_step * (AtOnce + 2));
        Come(AtOnce);
        Assert.Equal(_turns.Count, Begun);
        Come(1);
        Assert.Equal(_turns.Count - 1, Begun);
    }

    private void Come(int count, int most = Any)
    {
        for (var i = 0; i < count; i++)
        {
            _turns.Add(_pace.WaitAsync(most, CancellationToken.None).AsTask());
        }
    }
}
