using Tunnel2.Multiplexing.Threading;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Threading;

public sealed class ContainedFaultsTests
{
    private readonly ManualTimeProvider _time = new();

    [Fact]
    public void Faults_are_reported_once_a_second_with_their_number()
    {
        var told = new List<(string, long)>();
        var faults = new ContainedFaults(_time) { Report = (place, count, _) => told.Add((place, count)) };
        for (var i = 0; i < 5; i++)
        {
            faults.Add("here", new InvalidTimeZoneException());
        }

        Assert.Equal([("here", 1L)], told);
        _time.Advance(TimeSpan.FromSeconds(1));
        faults.Add("there", new InvalidTimeZoneException());
        faults.Add("there", new InvalidTimeZoneException());
        Assert.Equal([("here", 1L), ("there", 5L)], told);
        Assert.Equal(7, faults.Count);
    }

    [Fact]
    public void What_throws_is_counted_and_goes_no_further_even_where_it_is_logged()
    {
        var faults = new ContainedFaults(_time) { Report = static (_, _, _) => throw new InvalidTimeZoneException() };
        faults.Run("here", static _ => throw new AggregateException(), 0);
        Assert.Equal(1, faults.Count);
        faults.Run("here", static ran => ran.Add(1), new List<int>());
        Assert.Equal(1, faults.Count);
    }

    [Fact]
    public void Every_thread_may_add()
    {
        var told = 0L;
        var faults = new ContainedFaults(_time) { Report = (_, count, _) => told += count };
        Parallel.For(0, 1000, _ => faults.Add("here", new InvalidTimeZoneException()));
        _time.Advance(TimeSpan.FromSeconds(2));
        faults.Add("here", new InvalidTimeZoneException());
        Assert.Equal((1001, 1001), (faults.Count, told));
    }
}
