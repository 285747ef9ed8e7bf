using Tunnel2.Multiplexing.Windows;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Windows;

public class RoundTripEstimatorTests
{
    private readonly ManualTimeProvider _time = new();
    private readonly RoundTripEstimator _estimator;

    public RoundTripEstimatorTests() => _estimator = new RoundTripEstimator(_time);

    [Fact]
    public void The_shortest_round_trip_stays_however_long_later_ones_are()
    {
        Assert.Equal(TimeSpan.Zero, _estimator.Minimum);
        foreach (var milliseconds in new[] { 30, 10, 200 })
        {
            Assert.True(Measure(milliseconds));
        }

        Assert.Equal(TimeSpan.FromMilliseconds(10), _estimator.Minimum);
        Assert.Equal(TimeSpan.FromMilliseconds(200), _estimator.Last);
    }

    [Fact]
    public void The_first_four_follow_each_other_and_later_ones_come_every_two_seconds()
    {
        for (var i = 0; i < 4; i++)
        {
            Assert.True(_estimator.IsStarting);
            Assert.Equal(TimeSpan.Zero, _estimator.Path);
            Assert.True(Measure(4 - i));
        }

        Assert.Equal(TimeSpan.FromMilliseconds(1), _estimator.Path);
        Assert.False(_estimator.IsStarting);
        Assert.False(Measure(1));
        _time.Advance(TimeSpan.FromSeconds(2));
        Assert.True(Measure(1));
        Assert.False(Measure(1));
    }

    [Fact]
    public void One_is_under_way_at_a_time_and_foreign_answers_are_not_looked_at()
    {
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(_estimator.TryBegin(_time.GetTimestamp(), out var first));
        Assert.False(_estimator.TryBegin(_time.GetTimestamp(), out _));
        _time.Advance(TimeSpan.FromMilliseconds(5));
        var second = _estimator.Begin(_time.GetTimestamp());
        _time.Advance(TimeSpan.FromMilliseconds(5));
        _estimator.OnAnswer(first, _time.GetTimestamp());
        _estimator.OnAnswer(0, _time.GetTimestamp());
        Assert.Equal(TimeSpan.Zero, _estimator.Last);
        _estimator.OnAnswer(second, _time.GetTimestamp());
        _estimator.OnAnswer(second, _time.GetTimestamp() + 1_000_000);
        Assert.Equal(TimeSpan.FromMilliseconds(5), _estimator.Last);
    }

    private bool Measure(int milliseconds)
    {
        if (!_estimator.TryBegin(_time.GetTimestamp(), out var opaque))
        {
            return false;
        }

        _time.Advance(TimeSpan.FromMilliseconds(milliseconds));
        _estimator.OnAnswer(opaque, _time.GetTimestamp());
        return true;
    }
}
