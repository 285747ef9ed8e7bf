using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Policies;

public sealed class PolicyRatesTests
{
    private static readonly PolicyRate _rate = new(0.5, 2, PolicyRateKey.Address, "", "30/minute");
    private readonly ManualTimeProvider _time = new();
    private readonly PolicyRates _rates = new();

    [Fact]
    public void A_burst_passes_and_time_earns_more_up_to_the_burst()
    {
        Assert.Equal(2, Enumerable.Range(0, 5).Count(_ => Take(1)));
        Assert.False(_rates.TryTake(Id(1), _rate, _time, out var wait));
        Assert.Equal(TimeSpan.FromSeconds(2), wait);
        _time.Advance(wait);
        Assert.True(Take(1));
        Assert.False(Take(1));
        _time.Advance(TimeSpan.FromHours(1));
        Assert.Equal(2, Enumerable.Range(0, 5).Count(_ => Take(1)));
    }

    [Fact]
    public void Keys_and_rows_are_counted_apart()
    {
        Assert.Equal(2, Enumerable.Range(0, 5).Count(_ => Take(1)));
        Assert.True(Take(2));
        Assert.True(_rates.TryTake(Id(1) with { Row = 2 }, _rate, _time, out _));
        Assert.True(_rates.TryTake(Id(1) with { Table = 2 }, _rate, _time, out _));
        Assert.True(_rates.TryTake(Id(1) with { IsOfField = true }, _rate, _time, out _));
    }

    [Fact]
    public void There_is_a_most_of_buckets_and_the_oldest_makes_room()
    {
        Assert.True(Take(0));
        Assert.True(Take(0));
        for (var key = 1; key < PolicyRates.MaxBuckets; key++)
        {
            Assert.True(Take(key));
        }

        Assert.False(Take(0));
        Assert.Equal(PolicyRates.MaxBuckets, _rates.Count);
        Assert.True(Take(PolicyRates.MaxBuckets));
        Assert.Equal(PolicyRates.MaxBuckets, _rates.Count);
        Assert.True(Take(0));
    }

    [Fact]
    public void Values_of_a_field_and_other_rows_push_out_no_address()
    {
        Assert.True(Take(0));
        Assert.True(Take(0));
        for (var row = 1; row < 12; row++)
        {
            for (var key = 0; key <= PolicyRates.MaxBuckets; key++)
            {
                Assert.True(_rates.TryTake(new PolicyRateId(1, row, true, (ulong)key, 0), _rate, _time, out _));
            }
        }

        Assert.Equal(PolicyRates.MaxOfSession, _rates.Count);
        Assert.False(Take(0));
    }

    private static PolicyRateId Id(int key) => new(1, 1, false, (ulong)key, 0);

    private bool Take(int key) => _rates.TryTake(Id(key), _rate, _time, out _);
}
