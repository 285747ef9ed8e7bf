using System.Net;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Parking;

public sealed class ParkingLotTests
{
    private const long Second = TimeSpan.TicksPerSecond;

    private static readonly AgentIdentity _anybody = AgentIdentity.OfToken("anybody");

    private readonly ManualTimeProvider _time = new();

    [Fact]
    public async Task A_request_that_waits_continues_when_the_name_is_registered_and_no_other()
    {
        using var lot = Create();
        var waits = new[]
        {
            Enter(lot, "web"),
            Enter(lot, "web"),
            Enter(lot, "api"),
        }.Select(static place => place.WaitAsync(default).AsTask()).ToList();

        lot.Release("web", _anybody);

        Assert.Equal([ParkOutcome.Returned, ParkOutcome.Returned], await Task.WhenAll(waits[..2]));
        Assert.False(waits[2].IsCompleted);
        Assert.Equal(1, lot.Count);
        lot.Release("nobody-waits-for-this", _anybody);
        lot.Release("api", _anybody);
        Assert.Equal(ParkOutcome.Returned, await waits[2]);
        AssertEmpty(lot);
    }

    [Fact]
    public async Task A_request_that_waits_for_a_domain_looks_again_when_a_wildcard_above_it_is_registered()
    {
        using var lot = Create();
        var waits = new[] { "app.example.org", "a.app.example.org", "example.org", "app.example.net" }
            .Select(name => Enter(lot, name).WaitAsync(default).AsTask()).ToList();
        var owner = AgentIdentity.OfToken("owner");
        var others = lot.TryEnter("api.example.org", owner, default, _time.GetTimestamp() + (5 * Second), 100)!
            .WaitAsync(default).AsTask();

        lot.Release("*.example.org", _anybody);

        Assert.Equal(ParkOutcome.Returned, await waits[0]);
        Assert.Equal(4, lot.Count);
        Assert.All(waits[1..].Append(others), static wait => Assert.False(wait.IsCompleted));
        foreach (var name in new[] { "*.app.example.org", "example.org", "*.example.net" })
        {
            lot.Release(name, _anybody);
        }

        lot.Release("*.example.org", owner);
        Assert.All(await Task.WhenAll(waits.Append(others)), static outcome => Assert.Equal(ParkOutcome.Returned, outcome));
        AssertEmpty(lot);
    }

    [Fact]
    public async Task A_request_that_waits_for_one_session_does_not_continue_with_another()
    {
        using var lot = Create();
        var owner = AgentIdentity.OfToken("owner");
        var waits = new[] { owner, (AgentIdentity?)null, owner }
            .Select(wanted => lot.TryEnter("web", wanted, default, _time.GetTimestamp() + (5 * Second), 100)!.WaitAsync(default).AsTask())
            .ToList();

        lot.Release("web", _anybody);

        Assert.Equal(ParkOutcome.Returned, await waits[1]);
        Assert.Equal(2, lot.Count);
        _time.Advance(TimeSpan.FromSeconds(2));
        lot.Release("web", owner);
        Assert.Equal([ParkOutcome.Returned, ParkOutcome.Returned], await Task.WhenAll(waits[0], waits[2]));
        AssertEmpty(lot);
    }

    [Fact]
    public async Task Each_waits_until_its_own_deadline()
    {
        using var lot = Create();
        var early = Enter(lot, "web", 2).WaitAsync(default).AsTask();
        var late = Enter(lot, "web", 5).WaitAsync(default).AsTask();
        _time.Advance(TimeSpan.FromSeconds(1.9));
        Assert.False(early.IsCompleted);
        _time.Advance(ParkingLot.SweepPeriod);
        Assert.Equal(ParkOutcome.TimedOut, await early);
        Assert.False(late.IsCompleted);
        _time.Advance(TimeSpan.FromSeconds(3));
        Assert.Equal(ParkOutcome.TimedOut, await late);
        AssertEmpty(lot);
    }

    [Fact]
    public async Task A_look_that_throws_is_counted_and_the_next_one_serves_all()
    {
        var time = new FailingTimeProvider(_time);
        var faults = new ContainedFaults(_time);
        using var lot = new ParkingLot(SettingsFixture.LoadValid(), time, faults);
        var waits = Enumerable.Range(0, 10).Select(i => Enter(lot, $"name-{i % 3}", 2).WaitAsync(default).AsTask()).ToList();
        _time.Advance(TimeSpan.FromSeconds(1.9));
        time.Failures = 3;
        for (var i = 1; i <= 3; i++)
        {
            _time.Advance(ParkingLot.SweepPeriod);
            Assert.Equal((i, 10), (faults.Count, lot.Count));
        }

        _time.Advance(ParkingLot.SweepPeriod);
        Assert.All(await Task.WhenAll(waits), static outcome => Assert.Equal(ParkOutcome.TimedOut, outcome));
        Assert.Equal(3, faults.Count);
        AssertEmpty(lot);
        Assert.Equal(0, _time.ArmedTimers.Value);
    }

    [Fact]
    public async Task A_visitor_who_leaves_frees_its_place_at_once()
    {
        using var lot = Create("Parking:PerName=1");
        using var visitor = new CancellationTokenSource();
        var wait = Enter(lot, "web").WaitAsync(visitor.Token).AsTask();
        Assert.Null(lot.TryEnter("web", null, default, 5 * Second, 1));

        await visitor.CancelAsync();

        Assert.Equal(ParkOutcome.VisitorLeft, await wait);
        AssertEmpty(lot);
        Enter(lot, "web").Leave();
        AssertEmpty(lot);
    }

    [Fact]
    public async Task A_visitor_who_had_left_before_does_not_wait()
    {
        using var lot = Create();
        Assert.Equal(ParkOutcome.VisitorLeft, await Enter(lot, "web").WaitAsync(new CancellationToken(canceled: true)));
        AssertEmpty(lot);
    }

    [Theory]
    [InlineData("Parking:PerName=2", "web", false)]
    [InlineData("Parking:PerName=2", "api", true)]
    [InlineData("Parking:Total=2", "web", false)]
    [InlineData("Parking:Total=3", "api", true)]
    [InlineData("Parking:PerName=0", "api", false)]
    public void There_are_so_many_places_for_a_name_and_in_all(string setting, string name, bool hasPlace)
    {
        using var lot = Create(setting);
        lot.TryEnter("web", null, default, 5 * Second, 1);
        lot.TryEnter("web", null, default, 5 * Second, 1);
        Assert.Equal(hasPlace, lot.TryEnter(name, null, default, 5 * Second, 1) is not null);
    }

    [Fact]
    public void The_bytes_that_are_held_have_a_limit_of_their_own()
    {
        const long Megabyte = 1024 * 1024;
        using var lot = Create("Parking:Megabytes=3");
        var first = lot.TryEnter("web", null, default, 5 * Second, 2 * Megabyte);
        Assert.Null(lot.TryEnter("web", null, default, 5 * Second, Megabyte + 1));
        Assert.NotNull(lot.TryEnter("web", null, default, 5 * Second, Megabyte));
        Assert.Null(lot.TryEnter("web", null, default, 5 * Second, 1));
        first!.Leave();
        Assert.NotNull(lot.TryEnter("web", null, default, 5 * Second, 2 * Megabyte));
    }

    [Fact]
    public async Task Names_that_take_all_places_give_way_to_one_that_has_fewer_until_all_have_as_many()
    {
        using var lot = Create("Parking:PerName=4", "Parking:Total=8");
        var takers = Enumerable.Range(0, 8).Select(i => Enter(lot, $"taker-{i % 2}").WaitAsync(default).AsTask()).ToList();
        var others = Enumerable.Range(0, 2).Select(_ => Enter(lot, "web").WaitAsync(default).AsTask()).ToList();

        Assert.Null(lot.TryEnter("web", null, default, 5 * Second, 1));
        Assert.Equal(8, lot.Count);
        Assert.All(await Task.WhenAll(takers[6..]), static outcome => Assert.Equal(ParkOutcome.GaveWay, outcome));
        lot.Release("web", _anybody);
        Assert.All(await Task.WhenAll(others), static outcome => Assert.Equal(ParkOutcome.Returned, outcome));
        Assert.DoesNotContain(takers[..6], static taker => taker.IsCompleted);
    }

    [Fact]
    public async Task A_name_that_takes_all_bytes_gives_way_to_one_that_holds_less()
    {
        const long Megabyte = 1024 * 1024;
        using var lot = Create("Parking:Megabytes=3");
        var takers = Enumerable.Range(0, 3)
            .Select(_ => lot.TryEnter("taker", null, default, 5 * Second, Megabyte)!.WaitAsync(default).AsTask()).ToList();

        Assert.NotNull(lot.TryEnter("web", null, default, 5 * Second, Megabyte / 2));
        Assert.Equal(ParkOutcome.GaveWay, await takers[2]);
        Assert.NotNull(lot.TryEnter("web", null, default, 5 * Second, Megabyte / 2));
        Assert.Null(lot.TryEnter("web", null, default, 5 * Second, Megabyte));
        Assert.Equal((4, 3 * Megabyte), (lot.Count, lot.Bytes));
    }

    [Fact]
    public async Task An_address_that_takes_all_places_by_names_that_it_makes_up_gives_way_to_others_until_they_have_as_many()
    {
        using var lot = Create("Parking:Total=8");
        var takers = Enumerable.Range(0, 8).Select(i => WaitFrom(lot, $"made-up-{i}", 1)).ToList();
        var others = Enumerable.Range(0, 4).Select(i => WaitFrom(lot, i % 2 == 0 ? "web" : "api", 2)).ToList();

        Assert.Null(TryEnterFrom(lot, "web", 2));
        Assert.Equal(8, lot.Count);
        Assert.All(await Task.WhenAll(takers[4..]), static outcome => Assert.Equal(ParkOutcome.GaveWay, outcome));
        Assert.DoesNotContain(takers[..4], static taker => taker.IsCompleted);
        lot.Release("web", _anybody);
        lot.Release("api", _anybody);
        Assert.All(await Task.WhenAll(others), static outcome => Assert.Equal(ParkOutcome.Returned, outcome));
    }

    [Fact]
    public void An_address_that_has_many_places_takes_none_of_a_name_that_many_wait_for()
    {
        using var lot = Create("Parking:Total=16");
        var waits = Enumerable.Range(0, 10).Select(i => WaitFrom(lot, "web", (byte)(100 + i))).ToList();
        for (var i = 0; i < 100; i++)
        {
            Assert.Equal(i < 6, TryEnterFrom(lot, $"made-up-{i}", 1) is not null);
        }

        Assert.NotNull(TryEnterFrom(lot, "api", 2));
        Assert.DoesNotContain(waits, static wait => wait.IsCompleted);
    }

    [Fact]
    public async Task An_address_that_takes_all_bytes_gives_way_to_one_that_holds_less()
    {
        const int Megabyte = 1024 * 1024;
        using var lot = Create("Parking:Megabytes=4");
        var takers = Enumerable.Range(0, 4).Select(i => WaitFrom(lot, $"made-up-{i}", 1, Megabyte)).ToList();

        Assert.NotNull(TryEnterFrom(lot, "web", 2, Megabyte));
        Assert.NotNull(TryEnterFrom(lot, "api", 3, Megabyte));
        Assert.All(await Task.WhenAll(takers[2..]), static outcome => Assert.Equal(ParkOutcome.GaveWay, outcome));
        Assert.Null(TryEnterFrom(lot, "web", 2, Megabyte));
        Assert.DoesNotContain(takers[..2], static taker => taker.IsCompleted);
    }

    [Fact]
    public async Task No_request_waits_in_a_lot_that_was_closed()
    {
        using var lot = Create();
        var waits = new[] { Enter(lot, "web"), Enter(lot, "api") }.Select(static place => place.WaitAsync(default).AsTask()).ToList();
        lot.Close();
        Assert.All(await Task.WhenAll(waits), static outcome => Assert.Equal(ParkOutcome.Closed, outcome));
        Assert.Null(lot.TryEnter("web", null, default, 5 * Second, 1));
        AssertEmpty(lot);
    }

    [Fact]
    public void One_timer_serves_all_and_runs_only_while_a_request_waits()
    {
        using var lot = Create();
        Assert.Equal(0, _time.ArmedTimers.Value);
        var places = Enumerable.Range(0, 100).Select(i => Enter(lot, $"name-{i % 7}")).ToList();
        Assert.Equal(1, _time.ArmedTimers.Value);
        places.ForEach(static place => place.Leave());
        Assert.Equal(0, _time.ArmedTimers.Value);
    }

    [Fact]
    public Task After_any_events_in_any_order_the_books_agree_with_a_model() => SeededRandom.RunAsync(async random =>
    {
        using var lot = Create("Parking:PerName=4", "Parking:Total=9", "Parking:Megabytes=1");
        var waiting = new List<(string Name, long Deadline, int Bytes, CancellationTokenSource Visitor, Task<ParkOutcome> Wait)>();
        for (var step = 0; step < 3000; step++)
        {
            var name = $"n{random.Next(4)}";
            switch (random.Next(6))
            {
                case < 3:
                    var bytes = random.Next(400_000);
                    // In the middle of a second: time goes by in whole ones, so that no look falls so close to a deadline that it could go
                    // either way.
                    var deadline = _time.GetTimestamp() + (random.Next(3) * Second) + (Second / 2);
                    var hasRoom = HasRoom(waiting.Count, waiting.Sum(static w => w.Bytes), bytes);
                    var ofName = waiting.Count(w => w.Name == name);
                    var held = waiting.Sum(static w => w.Bytes);
                    var place = lot.TryEnter(name, null, default, deadline, bytes);
                    if (hasRoom || ofName >= 4)
                    {
                        Assert.Equal(hasRoom && ofName < 4, place is not null);
                    }
                    else if (place is not null)
                    {
                        var wait = await Task.WhenAny(waiting.Select(static w => w.Wait)).WaitAsync(TimeSpan.FromSeconds(10));
                        var gone = waiting.Single(w => w.Wait == wait);
                        Assert.True(HasRoom(waiting.Count - 1, held - gone.Bytes, bytes));
                        var isOfBytes = held + bytes > 1024 * 1024;
                        await ExpectAsync(waiting, w => w.Wait == gone.Wait, ParkOutcome.GaveWay);
                        Assert.True(Weight(gone.Name, isOfBytes) >= Weight(name, isOfBytes) + (isOfBytes ? bytes : 1));
                    }

                    if (place is not null)
                    {
                        var visitor = new CancellationTokenSource();
                        waiting.Add((name, deadline, bytes, visitor, place.WaitAsync(visitor.Token).AsTask()));
                    }

                    break;
                case 3:
                    lot.Release(name, _anybody);
                    await ExpectAsync(waiting, w => w.Name == name, ParkOutcome.Returned);
                    break;
                case 4 when waiting.Count > 0:
                    var leaver = waiting[random.Next(waiting.Count)];
                    await leaver.Visitor.CancelAsync();
                    await ExpectAsync(waiting, w => w.Wait == leaver.Wait, ParkOutcome.VisitorLeft);
                    break;
                default:
                    _time.Advance(TimeSpan.FromSeconds(1));
                    await ExpectAsync(waiting, w => w.Deadline <= _time.GetTimestamp(), ParkOutcome.TimedOut);
                    break;
            }

            Assert.Equal(waiting.Count, lot.Count);
            Assert.Equal(waiting.Sum(static w => w.Bytes), lot.Bytes);
            Assert.DoesNotContain(waiting, static w => w.Wait.IsCompleted);
        }

        static bool HasRoom(int count, int held, int bytes) => count < 9 && held + bytes <= 1024 * 1024;

        int Weight(string name, bool isOfBytes) => waiting.Where(w => w.Name == name).Sum(w => isOfBytes ? w.Bytes : 1);
    });

    [Fact]
    public async Task A_place_is_freed_once_however_many_end_it_at_the_same_time()
    {
        using var lot = Create();
        for (var round = 0; round < 500; round++)
        {
            using var visitor = new CancellationTokenSource();
            var wait = Enter(lot, "web").WaitAsync(visitor.Token).AsTask();
            using var start = new Barrier(3);
            await Task.WhenAll(
                Task.Run(() => At(start, visitor.Cancel)),
                Task.Run(() => At(start, () => lot.Release("web", _anybody))),
                Task.Run(() => At(start, () => _time.Advance(TimeSpan.FromSeconds(6)))));
            Assert.NotEqual(ParkOutcome.None, await wait);
            AssertEmpty(lot);
        }
    }

    private static void At(Barrier start, Action action)
    {
        start.SignalAndWait();
        action();
    }

    private static async Task ExpectAsync(
        List<(string Name, long Deadline, int Bytes, CancellationTokenSource Visitor, Task<ParkOutcome> Wait)> waiting,
        Func<(string Name, long Deadline, int Bytes, CancellationTokenSource Visitor, Task<ParkOutcome> Wait), bool> which,
        ParkOutcome outcome)
    {
        foreach (var gone in waiting.Where(which).ToList())
        {
            Assert.Equal(outcome, await gone.Wait.WaitAsync(TimeSpan.FromSeconds(10)));
            gone.Visitor.Dispose();
            waiting.Remove(gone);
        }
    }

    private static void AssertEmpty(ParkingLot lot) => Assert.Equal((0, 0L), (lot.Count, lot.Bytes));

    private static ParkedRequest? TryEnterFrom(ParkingLot lot, string name, byte visitor, int bytes = 1) =>
        lot.TryEnter(name, null, AddressKey.Of(new IPAddress([192, 0, 2, visitor])), 5 * Second, bytes);

    private static Task<ParkOutcome> WaitFrom(ParkingLot lot, string name, byte visitor, int bytes = 1) =>
        TryEnterFrom(lot, name, visitor, bytes)!.WaitAsync(default).AsTask();

    private ParkingLot Create(params string[] settings) => new(SettingsFixture.LoadValid(settings), _time);

    private ParkedRequest Enter(ParkingLot lot, string name, int seconds = 5)
    {
        var place = lot.TryEnter(name, null, default, _time.GetTimestamp() + (seconds * Second), 100);
        Assert.NotNull(place);
        return place;
    }
}
