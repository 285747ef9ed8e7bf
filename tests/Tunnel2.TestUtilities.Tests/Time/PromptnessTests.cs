using System.Diagnostics;

namespace Tunnel2.TestUtilities.Tests.Time;

public sealed class PromptnessTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task One_attempt_within_the_limit_is_enough()
    {
        var attempts = 0;
        await Promptness.AssertWithinAsync(_limit, number => Task.FromResult(Ago(TimeSpan.FromMinutes(++attempts < 3 ? 2 : 0))));
        Assert.Equal(3, attempts);
    }

    [Fact]
    public async Task What_is_slow_each_time_fails_with_all_its_times()
    {
        var numbers = new List<int>();
        var e = await Assert.ThrowsAsync<TimeoutException>(() => Promptness.AssertWithinAsync(_limit, number =>
        {
            numbers.Add(number);
            return Task.FromResult(Ago(TimeSpan.FromMinutes(2)));
        }));
        Assert.Equal([0, 1, 2, 3, 4], numbers);
        Assert.Matches(@"within 60 s, took (12\d\.\d{3}(, )?){5} s", e.Message);
    }

    [Fact]
    public async Task A_failure_of_another_kind_is_not_measured_again()
    {
        var attempts = 0;
        await Assert.ThrowsAsync<IOException>(() => Promptness.AssertWithinAsync(_limit, _ =>
        {
            attempts++;
            throw new IOException("broken");
        }));
        Assert.Equal(1, attempts);
    }

    private static long Ago(TimeSpan time) => Stopwatch.GetTimestamp() - (long)(time.TotalSeconds * Stopwatch.Frequency);
}
