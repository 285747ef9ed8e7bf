using Tunnel2.LoadTests.Engine;

namespace Tunnel2.LoadTests.Tests.Engine;

public sealed class TargetOrderTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(7)]
    [InlineData(40)]
    public void Each_round_goes_to_every_target_once(int targets)
    {
        var order = new TargetOrder(targets);
        for (var round = 0L; round < 1_000; round++)
        {
            var start = round * targets;
            Assert.Equal(Enumerable.Range(0, targets), Enumerable.Range(0, targets).Select(position => order[start + position]).Order());
        }
    }

    [Fact]
    public void No_target_keeps_its_place()
    {
        const int Targets = 40;
        const int Rounds = 4_000;
        var order = new TargetOrder(Targets);
        var first = new int[Targets];
        for (var round = 0L; round < Rounds; round++)
        {
            first[order[round * Targets]]++;
        }

        // A hundred times each is expected; five standard deviations to either side.
        Assert.All(first, static times => Assert.InRange(times, 50, 150));
    }

    [Fact]
    public void The_same_arrival_always_has_the_same_target() => Assert.Equal(new TargetOrder(40)[12_345], new TargetOrder(40)[12_345]);
}
