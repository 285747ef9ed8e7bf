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

    [Fact]
    public void New_values_from_one_address_are_counted_apart_up_to_a_most_and_then_for_the_address()
    {
        Assert.Equal(PolicyRates.MaxValuesOfAddress + 2, Enumerable.Range(0, 1000).Count(value => TakeValue(value, address: 1)));

        // Values that are known are counted by themselves, from each address; another address has its own.
        Assert.True(TakeValue(0, address: 1));
        Assert.False(TakeValue(0, address: 2));
        Assert.True(TakeValue(1, address: 2));
        Assert.True(TakeValue(5000, address: 2));
        Assert.False(Take(1));
        Assert.True(Take(2));
        Assert.Equal(PolicyRates.MaxValuesOfAddress + 3, _rates.Count);
    }

    [Fact]
    public void However_values_change_an_address_gets_no_more_than_its_values_earn()
    {
        const int Seconds = 600;
        var passed = 0;
        for (var i = 0; i < Seconds * 200; i++)
        {
            _time.Advance(TimeSpan.FromMilliseconds(5));
            passed += TakeValue(i, address: 1) ? 1 : 0;
        }

        Assert.InRange(
            passed, Seconds / 2, (PolicyRates.MaxValuesOfAddress + 1) * (_rate.Burst + (Seconds * _rate.PerSecond)));
    }

    [Fact]
    public void A_value_that_has_earned_all_back_makes_room_for_another_of_its_address()
    {
        for (var value = 0; value < PolicyRates.MaxValuesOfAddress; value++)
        {
            Assert.True(TakeValue(value, address: 1));
        }

        Assert.True(TakeValue(200, address: 1));
        Assert.True(TakeValue(201, address: 1));
        Assert.False(TakeValue(202, address: 1));
        _time.Advance(TimeSpan.FromSeconds(2));
        for (var value = 300; value < 300 + PolicyRates.MaxValuesOfAddress; value++)
        {
            Assert.True(TakeValue(value, address: 1));
        }

        Assert.Equal(PolicyRates.MaxValuesOfAddress + 1, _rates.Count);
    }

    [Fact]
    public void Values_of_many_addresses_have_a_most_too_and_leave_nothing_behind()
    {
        for (var round = 0; round < 3; round++)
        {
            for (var value = 0; value < 2 * PolicyRates.MaxBuckets; value++)
            {
                Assert.True(TakeValue((round * 100_000) + value, address: value / 50));
            }

            Assert.Equal(PolicyRates.MaxBuckets, _rates.Count);
        }
    }

    private bool TakeValue(int value, int address) =>
        _rates.TryTake(new PolicyRateId(1, 1, true, (ulong)value, 0), Id(address), _rate, _time, out _);

    private static PolicyRateId Id(int key) => new(1, 1, false, (ulong)key, 0);

    private bool Take(int key) => _rates.TryTake(Id(key), _rate, _time, out _);
}
