using Tunnel2.Multiplexing.Streams;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Requests;

/// <summary>Who gets memory where many addresses want it, and who gives way.</summary>
public sealed class HeldMemoryTests : IDisposable
{
    private const int Piece = 64 * 1024;

    private readonly ReceiveBudget _budget = new(ReceiveBudget.SmallestLimit, TimeProvider.System);
    private readonly HeldMemory _memory;

    public HeldMemoryTests() => _memory = new HeldMemory(_budget, longest: 1024);

    public void Dispose() => _budget.Dispose();

    [Fact]
    public void One_address_has_a_quarter_and_nothing_gives_way_to_itself()
    {
        var holders = Fill(1, pieces: 100);
        Assert.Equal(_memory.MostOfAddress, _memory.Held);
        Assert.Equal(_memory.Most / 4, _memory.Held);
        Assert.DoesNotContain(holders, static one => one.HasGivenWay);
        Return(holders);
    }

    [Theory]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(63)]
    public void However_many_addresses_fill_it_another_one_gets_its_part(int addresses)
    {
        var holders = new List<Holder>();
        for (var address = 0; address < addresses; address++)
        {
            holders.AddRange(Fill(address, pieces: 100));

            // Those that give way end.
            Return(holders.Where(static one => one.HasGivenWay));
            holders.RemoveAll(static one => one.HasGivenWay);
        }

        Assert.Equal(_memory.Most, _memory.Held);
        var late = new Holder(1000);
        Assert.True(_memory.TryTake(late, Piece));
        Assert.False(late.HasGivenWay);

        Return(holders);
        Assert.Equal(Piece, _memory.Held);
        Return([late]);
    }

    [Fact]
    public void The_oldest_of_the_address_that_has_most_gives_way()
    {
        var most = Fill(1, pieces: 16);
        var less = Enumerable.Range(2, 6).SelectMany(address => Fill(address, pieces: 8)).ToList();
        Assert.Equal(_memory.Most, _memory.Held);

        Holder[] late = [new(100), new(101)];
        Assert.All(late, one => Assert.True(_memory.TryTake(one, Piece)));
        Assert.Equal(most.Take(2), most.Concat(less).Where(static one => one.HasGivenWay));
        Return([.. most, .. less, .. late]);
    }

    [Fact]
    public void No_address_gets_more_than_another_by_making_it_give_way()
    {
        var holders = Enumerable.Range(0, 8).SelectMany(address => Fill(address, pieces: 8)).ToList();
        Assert.Equal(_memory.Most, _memory.Held);
        Assert.False(_memory.TryTake(new Holder(1), Piece));
        Assert.DoesNotContain(holders, static one => one.HasGivenWay);

        // The eighth of a ninth address would make it as large as the others.
        var late = Fill(9, pieces: 8);
        Assert.Equal(7, late.Count);
        Assert.Equal(7, holders.Count(static one => one.HasGivenWay));
        Return([.. holders, .. late]);
    }

    [Fact]
    public void Who_had_to_give_way_gets_no_more_and_may_not_keep_what_it_has()
    {
        var holders = Enumerable.Range(0, 4).SelectMany(address => Fill(address, pieces: 16)).ToList();
        var late = new Holder(5);
        Assert.True(_memory.TryTake(late, Piece));
        var cut = Assert.Single(holders, static one => one.HasGivenWay);
        Assert.False(_memory.TryTake(cut, 1));
        Assert.False(_memory.TryKeep(cut));
        Return([.. holders, late]);
    }

    [Fact]
    public void What_is_kept_counts_for_no_address_and_never_gives_way()
    {
        var kept = new List<Holder>();
        for (var i = 0; i < _memory.Most / Piece; i++)
        {
            var holder = new Holder(1);
            Assert.True(_memory.TryTake(holder, Piece));
            Assert.True(_memory.TryKeep(holder));
            kept.Add(holder);
        }

        Assert.False(_memory.TryTake(new Holder(2), Piece));
        Assert.DoesNotContain(kept, static one => one.HasGivenWay);
        Return(kept);
    }

    [Fact]
    public void Those_that_give_way_and_do_not_end_have_a_bound()
    {
        var holders = new List<Holder>();
        for (var address = 0; address < 1000; address++)
        {
            holders.AddRange(Fill(address, pieces: 4));
        }

        Assert.InRange(_memory.Held, _memory.Most, 2 * _memory.Most);
        Return(holders);
        Return(Fill(1, pieces: 1));
    }

    [Fact]
    public void Where_the_budget_has_no_room_nothing_gives_way_for_nothing()
    {
        var holders = Enumerable.Range(0, 4).SelectMany(address => Fill(address, pieces: 16)).ToList();
        var rest = (int)(_budget.Limit - _budget.Held);
        Assert.True(_budget.TryTake(rest));
        Assert.False(_memory.TryTake(new Holder(5), Piece));
        Assert.DoesNotContain(holders, static one => one.HasGivenWay);
        _budget.Return(rest);
        Return(holders);
    }

    [Fact]
    public void After_any_turns_the_sums_are_right() => SeededRandom.Run(random =>
    {
        var running = new List<Holder>();
        for (var turn = 0; turn < 20_000; turn++)
        {
            var one = running.Count > 0 && random.Next(2) == 0 ? running[random.Next(running.Count)] : new Holder(random.Next(30));
            switch (random.Next(8))
            {
                case 0:
                    running.Remove(one);
                    _memory.Return(one);
                    break;
                case 1 when !one.IsKept && one.Bytes > 0:
                    one.IsKept = _memory.TryKeep(one);
                    break;
                case > 1 when !one.IsKept && _memory.TryTake(one, random.Next(1, 2 * Piece)) && !running.Contains(one):
                    running.Add(one);
                    break;
            }

            Assert.Equal(running.Sum(static one => one.Bytes), _memory.Held);
            Assert.InRange(running.Where(static one => !one.HasGivenWay).Sum(static one => one.Bytes), 0, _memory.Most);
            Assert.InRange(_memory.Held, 0, 2 * _memory.Most);
        }

        Return(running);
        Assert.Equal(0, _memory.Held);
    });

    private void Return(IEnumerable<Holder> holders)
    {
        foreach (var one in holders)
        {
            _memory.Return(one);
        }

        Assert.Equal(_memory.Held, _budget.Held);
    }

    private List<Holder> Fill(int address, int pieces)
    {
        var holders = new List<Holder>();
        for (var holder = new Holder(address); holders.Count < pieces && _memory.TryTake(holder, Piece); holder = new Holder(address))
        {
            holders.Add(holder);
        }

        return holders;
    }

    private sealed class Holder(int address) : MemoryHolder(new AddressKey(1, (ulong)address))
    {
        public bool HasGivenWay { get; private set; }

        public bool IsKept { get; set; }

        public override void GiveWay() => HasGivenWay = true;
    }
}
